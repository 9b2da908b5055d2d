"""What can go wrong with a call, and when; values only."""

from typing import Literal

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.places import Permission
from turnkeeper.infrastructure.discord_double.problem import Problem

Scope = Literal["user", "global", "shared"]
Form = Literal["html", "text", "json"]


@frozen
class RateLimited:
    """A 429 that Discord itself answers.

    Attributes:
        code: Of limits that no header shows; None beside these.
        remaining: What the headers claim is left; None if there are no bucket headers.
    """

    retry_after_s: float = 0.1
    scope: Scope = "user"
    code: int | None = None
    remaining: int | None = 0
    message: str = "You are being rate limited."


@frozen
class ServerError:
    """A 5xx.

    Attributes:
        takes_effect: Whether what was asked for is done all the same.
    """

    status: int = 500
    takes_effect: bool = False
    form: Form = "json"


@frozen
class LostResponse:
    """The connection is reset in place of an answer."""

    takes_effect: bool = True


@frozen
class SlowAnswer:
    """It is done at once and answered late."""

    after_s: float = 0.5


@frozen
class EdgeBlock:
    """Blocked before Discord: no Via header, no retry_after."""

    status: Literal[403, 429] = 429
    form: Form = "html"


@frozen
class Refusal:
    """Discord says no."""

    problem: Problem


@frozen
class WebhookDeleted:
    """Somebody deletes the webhook that is used, or all of the channel."""


@frozen
class ChannelDeleted:
    """Somebody deletes the channel, or the thread."""


@frozen
class Revoked:
    """The bot may no longer do this in the channel."""

    permissions: frozenset[Permission]


@frozen
class ThreadArchived:
    """Somebody archives the thread; a channel stays as it is."""


@frozen
class ThreadLocked:
    """Somebody locks and archives the thread; a channel stays as it is."""


@frozen
class TokenRevoked:
    """The bot's token is of no use any more."""


Event = WebhookDeleted | ChannelDeleted | Revoked | ThreadArchived | ThreadLocked | TokenRevoked
"""What happens in the world just before a call, which then meets it."""

Mishap = RateLimited | ServerError | LostResponse | SlowAnswer | EdgeBlock | Refusal
"""What happens to a call itself."""


@frozen
class When:
    """Which calls a fault meets.

    Attributes:
        routes: Names in the table of routes; empty for all.
        method: None for all.
        nth: The first call it meets, counted among those that fit.
        times: How many in a row; None for ever.
        after_posts: Calls count only once so many messages were posted since the fault was set.
    """

    routes: tuple[str, ...] = ()
    method: str | None = None
    nth: int = 1
    times: int | None = 1
    after_posts: int = 0

    def __post_init__(self) -> None:
        if self.nth < 1:
            raise ValueError(f"When.nth is {self.nth}; the first call has 1")

    def fits(self, route: str, method: str) -> bool:
        """Whether such a call is counted."""
        return route in (self.routes or (route,)) and method == (self.method or method)

    def meets(self, number: int) -> bool:
        """Whether the fault meets the call of this number among those that fit."""
        return self.nth <= number and (self.times is None or number < self.nth + self.times)


@frozen
class Fault:
    """One fault, and the calls that meet it."""

    what: Mishap | Event
    when: When = When()
