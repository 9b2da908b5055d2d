"""All signals in the order in which they are looked for; the first that fits counts.

Money comes before context, content and the model, these before the key, and bare statuses last,
since an honest word often comes with a misleading status.
"""

from functools import lru_cache

from turnkeeper.domain.account_signals import KEY, MONEY, PRESSURE
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.request_signals import CAPABILITY, CONTENT, CONTEXT, MODEL, TOOLS
from turnkeeper.domain.signal import Lookout, Signal, any_of

STATUS = (
    Signal(id="status-auth", kind=FailureKind.AUTH, statuses=frozenset({401})),
    Signal(id="status-permission", kind=FailureKind.PERMISSION, statuses=frozenset({403})),
    Signal(id="status-model", kind=FailureKind.MODEL_NOT_FOUND, statuses=frozenset({404, 410})),
    Signal(id="status-limit", kind=FailureKind.RATE_LIMIT, statuses=frozenset({429})),
    Signal(
        id="status-overloaded",
        kind=FailureKind.OVERLOADED,
        statuses=frozenset({498, 503, 529}),
    ),
    Signal(id="status-unable", kind=FailureKind.BAD_REQUEST, statuses=frozenset({501})),
    Signal(
        id="status-server",
        kind=FailureKind.SERVER_ERROR,
        statuses=frozenset({408, 409, 425, 499, *range(500, 600)}),
    ),
    Signal(
        id="status-request",
        kind=FailureKind.BAD_REQUEST,
        statuses=frozenset(range(300, 500)),
    ),
    Signal(
        id="server-code",
        kind=FailureKind.SERVER_ERROR,
        words=any_of(
            r"(internal_?)?server(_?error)?|api_error|internal(_error)?|unknown_error",
            r"provider_unavailable|bad_gateway|network_error|unmapped",
            r"timeout(_error)?|deadline_exceeded",
        ),
        says=any_of(r"internal (server )?error"),
    ),
    Signal(
        id="request-code",
        kind=FailureKind.BAD_REQUEST,
        words=any_of(
            r"(bad|invalid)_(request|argument|parameter)(_error)?",
            r"failed_precondition|extra_forbidden|unprocessable\w*",
        ),
    ),
    Signal(id="unknown", kind=FailureKind.SERVER_ERROR),
)

SIGNALS = (
    *MONEY,
    *TOOLS,
    *CONTEXT,
    *CONTENT,
    *CAPABILITY,
    *MODEL,
    *KEY,
    *PRESSURE,
    *STATUS,
)


@lru_cache(maxsize=256)
def lookout(provider: str, status: int | None) -> Lookout:
    """What finds the first signal of what the provider says with that status."""
    return Lookout(SIGNALS, provider, status)
