"""What the wall can do with one request: an answer, or one of these, one class a fault."""

from collections.abc import Mapping
from typing import Literal

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.answer import NO_PAIRS, SIXTY_TOKENS, Answer, Pairs

Cut = Literal["close", "reset"]
Framing = Literal["chunked", "close", "length"]

HALF_AN_EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"unfin\n\n'


@frozen
class Refuse:
    """An answer that is not 200.

    Attributes:
        body: A mapping is sent as JSON; None for the dialect's own words for the status.
    """

    status: int
    body: bytes | str | Mapping[str, object] | None = None
    headers: Pairs = NO_PAIRS


@frozen
class Reset:
    """The connection is reset before the headers."""


@frozen
class CutAfter:
    """An answer that breaks off.

    Attributes:
        tokens: Tokens sent before; 0 for the headers alone, None for not even these.
        bytes_more: Bytes of the next event that are still sent.
        then: How the connection ends; "end" ends the body properly, though the answer is not over.
    """

    tokens: int | None
    then: Literal["end", "close", "reset"] = "close"
    bytes_more: int = 0
    of: Answer = SIXTY_TOKENS

    def __post_init__(self) -> None:
        _check_place("CutAfter.tokens", self.tokens, self.of)
        if self.tokens is None and self.then == "end":
            raise ValueError("CutAfter cannot end a body before the headers; use close or reset")


@frozen
class Stall:
    """Silence within an answer.

    Attributes:
        after_tokens: Tokens sent before; 0 for the headers alone, None for not even these.
        for_s: None for ever, that is until the client or the wall goes.
        then: What follows the silence.
    """

    after_tokens: int | None = None
    for_s: float | None = None
    then: Literal["continue", "close", "reset"] = "continue"
    of: Answer = SIXTY_TOKENS

    def __post_init__(self) -> None:
        _check_place("Stall.after_tokens", self.after_tokens, self.of)


@frozen
class CommentsOnly:
    """Headers, then keep-alive comments and no content.

    Attributes:
        for_s: None for ever.
        of: The answer that follows; None ends the body there.
    """

    every_s: float
    for_s: float | None = None
    comment: bytes = b": keep-alive\n\n"
    of: Answer | None = None

    def __post_init__(self) -> None:
        if self.every_s <= 0:
            raise ValueError(f"CommentsOnly.every_s is {self.every_s}; it must be above 0")


@frozen
class Malformed:
    """Bytes that no answer should have, put between its events.

    Attributes:
        payload: Sent as it is, as one piece.
    """

    payload: bytes = HALF_AN_EVENT
    after_tokens: int = 1
    then: Literal["continue", "end", "close", "reset"] = "continue"
    of: Answer = SIXTY_TOKENS

    def __post_init__(self) -> None:
        _check_place("Malformed.after_tokens", self.after_tokens, self.of)


@frozen
class InBandError:
    """A provider's error as an event of a 200 stream, which then ends.

    Attributes:
        status: The status the event names, in the dialect's words.
    """

    status: int
    message: str = "The wall was told to fail here."
    after_tokens: int = 0
    of: Answer = SIXTY_TOKENS

    def __post_init__(self) -> None:
        _check_place("InBandError.after_tokens", self.after_tokens, self.of)


@frozen
class Drip:
    """One token each `gap_s`, for ever.

    Attributes:
        kind: Whether the tokens are visible text or reasoning.
    """

    gap_s: float
    token: str = "drip "  # noqa: S105 - a word, not a password
    kind: Literal["text", "reasoning"] = "text"

    def __post_init__(self) -> None:
        if self.gap_s <= 0:
            raise ValueError(f"Drip.gap_s is {self.gap_s}; it must be above 0")


@frozen
class BigEvent:
    """An answer of one event whose text has `size_bytes`; None for an event that never ends."""

    size_bytes: int | None


@frozen
class Replay:
    """A recorded response.

    Attributes:
        headers: Those that frame the body are left out; `framing` speaks for them.
        slice_bytes: Bytes a write; "random" draws 1 to 64 from `seed`; None writes all at once.
        gap_s: From slice to slice.
    """

    body: bytes
    status: int = 200
    headers: Pairs = (("Content-Type", "text/event-stream"),)
    slice_bytes: int | Literal["random"] | None = None
    seed: int = 0
    gap_s: float = 0.0
    framing: Framing = "chunked"

    def __post_init__(self) -> None:
        if isinstance(self.slice_bytes, int) and self.slice_bytes < 1:
            raise ValueError(f"Replay.slice_bytes is {self.slice_bytes}; it must be at least 1")


Broken = CutAfter | Stall | CommentsOnly | Malformed | InBandError | Drip | BigEvent
Behaviour = Answer | Refuse | Reset | Replay | Broken


def _check_place(name: str, tokens: int | None, answer: Answer) -> None:
    if tokens is not None and not 0 <= tokens <= answer.token_count:
        raise ValueError(f"{name} is {tokens}; its answer has 0 to {answer.token_count}")
