"""How often what may be called."""

from collections.abc import Mapping
from types import MappingProxyType

from turnkeeper.domain.frozen import frozen, replace


@frozen
class Window:
    """So many calls in so long."""

    calls: int
    per_s: float


@frozen
class Limits:
    """All limits.

    Attributes:
        buckets: By name of a route; deletes have three, by the message's age. A route that is not
            here has no limit and its answers no bucket headers.
        hidden: Of what webhooks say in one channel; no header shows it.
        overall: Of a token, over all routes but those of interactions.
        invalid: How many refusals until the edge bans the address.
    """

    buckets: Mapping[str, Window]
    hidden: Window = Window(calls=30, per_s=60.0)
    overall: Window = Window(calls=50, per_s=1.0)
    invalid: Window = Window(calls=10_000, per_s=600.0)

    def scaled(self, scale: float) -> "Limits":
        """The same with windows so many times as long."""

        def shorter(window: Window) -> Window:
            return replace(window, per_s=window.per_s * scale)

        return Limits(
            buckets={name: shorter(window) for name, window in self.buckets.items()},
            hidden=shorter(self.hidden),
            overall=shorter(self.overall),
            invalid=shorter(self.invalid),
        )


DELETE_YOUNG, DELETE, DELETE_OLD = "delete_young", "delete", "delete_old"
YOUNG_S = 10.0
OLD_S = 14 * 86_400.0

_MESSAGES = Window(calls=5, per_s=5.0)
_WEBHOOKS = Window(calls=5, per_s=2.0)
DEFAULT = Limits(
    buckets=MappingProxyType(
        {
            "create_message": _MESSAGES,
            "edit_message": _MESSAGES,
            "list_messages": _MESSAGES,
            "get_message": _MESSAGES,
            "type_in_channel": _MESSAGES,
            "create_webhook": _MESSAGES,
            "delete_messages": Window(calls=1, per_s=1.0),
            DELETE_YOUNG: Window(calls=5, per_s=1.0),
            DELETE: Window(calls=3, per_s=0.333),
            DELETE_OLD: Window(calls=30, per_s=4.0),
            "execute_webhook": _WEBHOOKS,
            "edit_webhook_message": _WEBHOOKS,
            "delete_webhook_message": _WEBHOOKS,
        }
    )
)
_NEVER = Window(calls=10**9, per_s=1.0)
NONE = Limits(buckets=MappingProxyType({}), hidden=_NEVER, overall=_NEVER)
"""For whoever looks at something else; the edge still bans."""
