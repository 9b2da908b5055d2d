"""What a failure is, and what is done about each kind of it."""

from enum import Enum

from turnkeeper.domain.frozen import frozen


class FailureKind(Enum):
    """What went wrong, in the terms that decide what is done about it."""

    __hash__ = object.__hash__  # they are compared as objects, and looked up for each failure

    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    PERMISSION = "permission"
    QUOTA = "quota"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    OVERLOADED = "overloaded"
    MODEL_NOT_FOUND = "model_not_found"
    CAPABILITY = "capability"
    CONTEXT_TOO_LONG = "context_too_long"
    CONTENT_FILTER = "content_filter"
    BAD_REQUEST = "bad_request"
    MALFORMED_TOOL_CALL = "malformed_tool_call"
    TIMEOUT = "timeout"
    TOOLS_EXHAUSTED = "tools_exhausted"
    NO_KEY = "no_key"
    UNPREPARABLE = "unpreparable"
    STORE = "store"
    SINK = "sink"
    EMPTY = "empty"
    CRASH = "crash"


@frozen
class Failure:
    """One failure, redacted: safe to store, log and summarise.

    Attributes:
        kind: What went wrong.
        message: The provider's or our own words, redacted; not shown verbatim in a channel.
        provider: Which provider said so; empty where it was ourselves.
        status: The HTTP status, or None where there was none.
        code: The provider's own code as text, or None. Never a destination's code: those
            are `DestinationGone.code`.
        rule: The id of the rule that recognised it (`domain.signals`).
        evidence: What the rule saw, redacted, such as ``code=insufficient_quota``.
        in_band: Whether it came inside a 200 stream.
        retry_after_s: How long the provider asks to wait, or None if it did not say.
        affordable_tokens: The output that the balance still pays for, or None.
        limit_tokens: The limit that a too long prompt ran into, if the message states it.
        requested_tokens: What the prompt amounted to, if the message states it.
        parameter: The request parameter that was refused, or None.
    """

    kind: FailureKind
    message: str
    provider: str = ""
    status: int | None = None
    code: str | None = None
    rule: str = ""
    evidence: str = ""
    in_band: bool = False
    retry_after_s: float | None = None
    affordable_tokens: int | None = None
    limit_tokens: int | None = None
    requested_tokens: int | None = None
    parameter: str | None = None


class OtherKey(Enum):
    """Whether another key of the same model may help."""

    NEVER = "never"
    ONCE = "once"
    NEXT = "next"


class SameKey(Enum):
    """Whether the same key may be tried again, and after what change."""

    NEVER = "never"
    WAIT = "no other key and it is back soon: wait, once"
    CAPPED = "once, with the output that the balance pays for"
    REPEAT = "no other key and nothing posted: once"
    WITHOUT_MEDIA = "once without the media"
    SHRUNK = "strictly smaller: once while another model remains, else three times"
    REPEAT_CALL = "once"


class KeyErrorClass(Enum):
    """How a failure is booked on the key, in the specification's two words."""

    RATE_LIMIT = "rate_limit"
    API_ERROR = "api_error"


class CooldownScope(Enum):
    """What rests after a failure."""

    NOTHING = "nothing"
    KEY = "key"
    KEY_FOR_MODEL = "key for this model"
    KEY_DISABLED = "key until it is edited"
    MODEL = "model"


@frozen
class Reaction:
    """What is done about one kind of failure.

    Attributes:
        other_key: Whether another key may help.
        same_key: Whether the same key may.
        rests: What rests.
        rest_s: For how long, where the failure does not say.
        booked_as: The error class on the key.
        next_model: Whether another model may help.
    """

    other_key: OtherKey = OtherKey.NEVER
    same_key: SameKey = SameKey.NEVER
    rests: CooldownScope = CooldownScope.NOTHING
    rest_s: float = 0.0
    booked_as: KeyErrorClass = KeyErrorClass.API_ERROR
    next_model: bool = True


MODEL_REST_S = 15.0
MODEL_MISSING_REST_S = 300.0
QUOTA_REST_S = 6 * 3600.0

REACTIONS: dict[FailureKind, Reaction] = {
    FailureKind.RATE_LIMIT: Reaction(
        other_key=OtherKey.NEXT,
        same_key=SameKey.WAIT,
        rests=CooldownScope.KEY,
        rest_s=60.0,
        booked_as=KeyErrorClass.RATE_LIMIT,
    ),
    FailureKind.AUTH: Reaction(other_key=OtherKey.NEXT, rests=CooldownScope.KEY_DISABLED),
    FailureKind.PERMISSION: Reaction(
        other_key=OtherKey.ONCE, rests=CooldownScope.KEY_FOR_MODEL, rest_s=300.0
    ),
    FailureKind.QUOTA: Reaction(
        other_key=OtherKey.NEXT,
        same_key=SameKey.CAPPED,
        rests=CooldownScope.KEY,
        rest_s=QUOTA_REST_S,
        booked_as=KeyErrorClass.RATE_LIMIT,
    ),
    FailureKind.SERVER_ERROR: Reaction(other_key=OtherKey.NEXT, same_key=SameKey.REPEAT),
    FailureKind.NETWORK: Reaction(other_key=OtherKey.NEXT, same_key=SameKey.REPEAT),
    FailureKind.OVERLOADED: Reaction(rests=CooldownScope.MODEL, rest_s=MODEL_REST_S),
    FailureKind.MODEL_NOT_FOUND: Reaction(rests=CooldownScope.MODEL, rest_s=MODEL_MISSING_REST_S),
    FailureKind.CAPABILITY: Reaction(same_key=SameKey.WITHOUT_MEDIA),
    FailureKind.CONTEXT_TOO_LONG: Reaction(same_key=SameKey.SHRUNK),
    FailureKind.CONTENT_FILTER: Reaction(),
    FailureKind.BAD_REQUEST: Reaction(),
    FailureKind.MALFORMED_TOOL_CALL: Reaction(same_key=SameKey.REPEAT_CALL),
    FailureKind.TIMEOUT: Reaction(rests=CooldownScope.MODEL, rest_s=MODEL_REST_S),
    FailureKind.TOOLS_EXHAUSTED: Reaction(next_model=False),
    FailureKind.NO_KEY: Reaction(),
    FailureKind.UNPREPARABLE: Reaction(),
    FailureKind.STORE: Reaction(next_model=False),
    FailureKind.SINK: Reaction(next_model=False),
    FailureKind.EMPTY: Reaction(),
    FailureKind.CRASH: Reaction(),
}


def key_rest_s(failure: Failure) -> float:
    """How long the key rests after the failure: what was asked for, else the kind's own time.

    A quota that is used up never rests for nothing, whatever hint came with it.
    """
    reaction = REACTIONS[failure.kind]
    if failure.retry_after_s is None:
        return reaction.rest_s
    if failure.kind is FailureKind.QUOTA and failure.retry_after_s <= 0:
        return reaction.rest_s
    return failure.retry_after_s
