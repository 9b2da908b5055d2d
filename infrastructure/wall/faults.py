"""The sixteen faults that turns have to survive.

Each is met by a primary model that has one key and one fallback. What a fault says depends on the
family of the dialect; how the turn ends does not. Values only: whoever runs them brings the turns.
"""

from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    CutAfter,
    Malformed,
    Refuse,
    Replay,
    Reset,
    Stall,
)
from turnkeeper.infrastructure.wall.fault import (
    BRISK,
    FROM_FALLBACK,
    FROM_PRIMARY,
    STORY,
    Bounds,
    Family,
    Fault,
    Outage,
    Steps,
    Verdict,
)
from turnkeeper.infrastructure.wall.seen import Seen


def unless_prefilled(seen: Seen) -> Behaviour:
    """The fallback's answer; a request that ends with the beginning of an answer is refused."""
    said: list[Mapping[str, Any]] = seen.body.get("messages") or seen.body.get("contents") or []
    if said and said[-1].get("role") in ("assistant", "model"):
        return Refuse(status=400, body="This model goes on with nobody's answer.")
    return FROM_FALLBACK


def limited_for(seconds: int) -> Steps:
    """A rate limit with the hint of its end, and then an answer."""
    return (Refuse(status=429, headers=(("Retry-After", str(seconds)),)), FROM_PRIMARY)


def _refused(status: int, /, **error: object) -> Steps:
    return (Refuse(status=status, body={"error": error}),)


_OVERLONG = "This model's maximum context length is 8192 tokens, but the request has 9001 tokens."
_TOO_LONG: Mapping[Family, Steps] = {
    "openai": _refused(400, message=_OVERLONG, code="context_length_exceeded", param="messages"),
    "openrouter": _refused(400, message=_OVERLONG, code=400, metadata={"provider_name": None}),
    "google": _refused(
        400,
        code=400,
        message="The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
        status="INVALID_ARGUMENT",
    ),
    "anthropic": _refused(
        400,
        type="invalid_request_error",
        message="prompt is too long: 9001 tokens > 8192 maximum",
    ),
}
_FILTERED: Mapping[Family, Steps] = {
    "openai": _refused(400, message="The prompt was filtered.", code="content_filter"),
    "openrouter": _refused(
        403, code=403, message="Your input was flagged", metadata={"reasons": ["violence"]}
    ),
    # These two say so in an answer of status 200.
    "google": (Replay(body=b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\r\n\r\n'),),
    "anthropic": (Answer(finish="content_filter"),),
}


def _by_primary(*failures: FailureKind) -> Verdict:
    return Verdict(answered_by="primary", primary_calls=1 + len(failures), failures=failures)


def _by_fallback(
    *failures: FailureKind, takes_back: bool = False, shrinks: bool = False
) -> Verdict:
    return Verdict(
        answered_by="fallback",
        primary_calls=len(failures),
        fallback_calls=1,
        failures=failures,
        takes_back=takes_back,
        shrinks=shrinks,
    )


TRIED_TWICE = Bounds(least_calls=2, most_calls=2)
FAULTS: tuple[Fault | Outage, ...] = (
    Fault(
        id="S01",
        name="429 with Retry-After, then well",
        primary=limited_for(2),
        verdict=_by_primary(FailureKind.RATE_LIMIT),
        wait_s=1.8,
        bounds=TRIED_TWICE,
    ),
    Fault(
        id="S02",
        name="429 for ever, without a hint",
        primary=(Refuse(status=429),),
        verdict=_by_fallback(FailureKind.RATE_LIMIT),
    ),
    Fault(
        id="S03",
        name="500 once, then well",
        primary=(Refuse(status=500), FROM_PRIMARY),
        verdict=_by_primary(FailureKind.SERVER_ERROR),
        bounds=TRIED_TWICE,
    ),
    Fault(
        id="S04",
        name="503 for ever",
        primary=(Refuse(status=503),),
        verdict=_by_fallback(FailureKind.OVERLOADED),
    ),
    Fault(
        id="S05",
        name="connection reset before the headers",
        primary=(Reset(),),
        verdict=_by_fallback(FailureKind.NETWORK, FailureKind.NETWORK),
    ),
    Fault(
        id="S06",
        name="no byte for 120 s",
        primary=(Stall(for_s=120.0, of=FROM_PRIMARY),),
        verdict=_by_fallback(FailureKind.TIMEOUT),
        bounds=Bounds(within_s=100.0),
        limits=BRISK,
    ),
    Fault(
        id="S07",
        name="first token after 20 s",
        primary=(Stall(after_tokens=0, for_s=20.0, of=FROM_PRIMARY),),
        verdict=_by_fallback(FailureKind.TIMEOUT),
        bounds=Bounds(within_s=15.0),
        limits=BRISK,
    ),
    Fault(
        id="S08",
        name="cut after 40 of 60 tokens",
        primary=(CutAfter(tokens=40, of=STORY),),
        verdict=_by_fallback(FailureKind.NETWORK, takes_back=True),
    ),
    Fault(
        id="S09",
        name="silence for 30 s after 40 of 60 tokens, then a close",
        primary=(Stall(after_tokens=40, for_s=30.0, then="close", of=STORY),),
        verdict=_by_fallback(FailureKind.TIMEOUT, takes_back=True),
        bounds=Bounds(within_s=100.0),
        limits=BRISK,
    ),
    Fault(
        id="S10",
        name="one malformed event within the answer",
        primary=(Malformed(after_tokens=40, of=STORY),),
        verdict=_by_fallback(FailureKind.NETWORK, takes_back=True),
    ),
    Fault(
        id="S11",
        name="a whole answer without [DONE]",
        primary=(replace(FROM_PRIMARY, done=False),),
        verdict=_by_primary(),
        not_in=(
            ("google", "its answers end with a finishReason and the body; there is no end marker"),
            ("anthropic", "its answers end with a stop_reason; there is no [DONE]"),
        ),
    ),
    Fault(
        id="S12",
        name="400, the prompt is too long",
        primary=_TOO_LONG,
        verdict=_by_fallback(
            FailureKind.CONTEXT_TOO_LONG, FailureKind.CONTEXT_TOO_LONG, shrinks=True
        ),
        bounds=Bounds(most_calls=2),
    ),
    Fault(
        id="S13",
        name="the content is refused, and that is to stand",
        primary=_FILTERED,
        verdict=Verdict(
            answered_by=None, failures=(FailureKind.CONTENT_FILTER,), status=TurnStatus.ERROR
        ),
        bounds=Bounds(most_calls=1),
        content_filter=ContentFilterPolicy.STOP,
    ),
    Fault(
        id="S14",
        name="cut after 40 of 60 tokens, and the fallback goes on with no answer but its own",
        primary=(CutAfter(tokens=40, of=STORY),),
        fallback=(unless_prefilled,),
        verdict=_by_fallback(FailureKind.NETWORK, takes_back=True),
    ),
    Outage(
        id="S15",
        name="an outage of 60 s",
        down=Refuse(status=503),
        for_s=60.0,
        every_s=3.0,
        back_within_s=30.0,
        most_calls=5,
    ),
    Fault(
        id="S16",
        name="the fallback's name and usage",
        primary=(Refuse(status=503),),
        verdict=_by_fallback(FailureKind.OVERLOADED),
        bounds=Bounds(exact_usage=True),
    ),
)
