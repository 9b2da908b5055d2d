"""In which acts each behaviour leaves the wall."""

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import count, islice
from typing import assert_never

import orjson

from turnkeeper.infrastructure.wall.acts import (
    LAST_CHUNK,
    Act,
    Leave,
    Pause,
    Send,
    Stream,
    Voice,
    framed,
    head,
    typed,
)
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    BigEvent,
    Broken,
    CommentsOnly,
    CutAfter,
    Drip,
    InBandError,
    Malformed,
    Refuse,
    Replay,
    Reset,
    Stall,
)

BLOCK_BYTES = 65_536
LONGEST_RANDOM_SLICE_BYTES = 64
FRAMING_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})
FILLER = "~filler~"


def acts_of(behaviour: Behaviour, voice: Voice) -> Iterator[Act]:
    """Return what the wall does; where the connection may live on, no Leave comes."""
    match behaviour:
        case Answer():
            return _answer(behaviour, voice)
        case Refuse():
            return iter((_refusal(behaviour, voice),))
        case Reset():
            return iter((Leave(how="reset"),))
        case Replay():
            return _replay(behaviour, voice)
        case _:
            return _broken(behaviour, voice)


def _broken(behaviour: Broken, voice: Voice) -> Iterator[Act]:
    match behaviour:
        case CutAfter():
            return _cut(behaviour, voice)
        case Stall():
            return _stall(behaviour, voice)
        case CommentsOnly():
            return _comments(behaviour, voice)
        case Malformed():
            return _malformed(behaviour, voice)
        case InBandError():
            return _in_band_error(behaviour, voice)
        case Drip():
            return _drip(behaviour, voice)
        case BigEvent():
            return _big_event(behaviour, voice)
        case _:
            assert_never(behaviour)


def _answer(answer: Answer, voice: Voice) -> Iterator[Act]:
    if not answer.burst or answer.gap_s:
        yield from _whole(answer, voice)
        return
    if answer.before_s:
        yield Pause(for_s=answer.before_s)
    yield _burst(answer, voice)
    if answer.framing == "close":
        yield Leave(how="close")


def _whole(answer: Answer, voice: Voice) -> Iterator[Act]:
    stream = Stream(answer, voice)
    yield from stream.head()
    yield from stream.rest(0)
    yield from stream.end()


# Pure, and what a benchmark asks for thousands of times.
@lru_cache(maxsize=256)
def _burst(answer: Answer, voice: Voice) -> Send:
    sends = [act for act in _whole(answer, voice) if isinstance(act, Send)]
    return Send(data=b"".join(act.data for act in sends), tokens=sum(act.tokens for act in sends))


def _refusal(refusal: Refuse, voice: Voice) -> Send:
    content_type = "application/json"
    match refusal.body:
        case None:
            body = voice.dialect.error(refusal.status, f"The wall answers {refusal.status}.")
        case Mapping():
            body = orjson.dumps(dict(refusal.body))
        case str() | bytes() as text:
            content_type = "text/plain; charset=utf-8"
            body = text.encode() if isinstance(text, str) else text
    headers = (*typed(refusal.headers, content_type), ("Content-Length", str(len(body))))
    return Send(data=head(refusal.status, headers, "length", keep_alive=voice.keep_alive) + body)


def _replay(replay: Replay, voice: Voice) -> Iterator[Act]:
    headers = tuple(pair for pair in replay.headers if pair[0].lower() not in FRAMING_HEADERS)
    if replay.framing == "length":
        headers = (*headers, ("Content-Length", str(len(replay.body))))
    yield Send(data=head(replay.status, headers, replay.framing, keep_alive=voice.keep_alive))
    for number, data in enumerate(_slices(replay)):
        if number and replay.gap_s:
            yield Pause(for_s=replay.gap_s)
        yield Send(data=framed(data, replay.framing))
    if replay.framing == "chunked":
        yield Send(data=LAST_CHUNK)
    if replay.framing == "close":
        yield Leave(how="close")


def _slices(replay: Replay) -> Iterator[bytes]:
    dice = random.Random(replay.seed)  # noqa: S311 - it cuts bytes, it keeps no secret
    start = 0
    while start < len(replay.body):
        match replay.slice_bytes:
            case None:
                size = len(replay.body)
            case "random":
                size = dice.randint(1, LONGEST_RANDOM_SLICE_BYTES)
            case int():
                size = replay.slice_bytes
        yield replay.body[start : start + size]
        start += size


def _cut(cut: CutAfter, voice: Voice) -> Iterator[Act]:
    stream = Stream(cut.of, voice)
    if cut.tokens is not None:
        yield from stream.head()
        yield from stream.first(cut.tokens)
        yield stream.event(stream.rest_bytes(cut.tokens)[: cut.bytes_more])
    if cut.then == "end":
        yield from stream.end()
    else:
        yield Leave(how=cut.then)


def _stall(stall: Stall, voice: Voice) -> Iterator[Act]:
    stream = Stream(stall.of, voice)
    if stall.after_tokens is not None:
        yield from stream.head()
        yield from stream.first(stall.after_tokens)
    yield Pause(for_s=stall.for_s)
    if stall.then != "continue":
        yield Leave(how=stall.then)
        return
    if stall.after_tokens is None:
        yield from stream.head()
    yield from stream.rest(stall.after_tokens or 0)
    yield from stream.end()


def _comments(comments: CommentsOnly, voice: Voice) -> Iterator[Act]:
    stream = Stream(comments.of or Answer(), voice)
    yield from stream.head()
    times = None if comments.for_s is None else round(comments.for_s / comments.every_s)
    for _ in islice(count(), times):
        yield stream.event(comments.comment)
        yield Pause(for_s=comments.every_s)
    if comments.of is not None:
        yield from stream.rest(0)
    yield from stream.end()


def _malformed(malformed: Malformed, voice: Voice) -> Iterator[Act]:
    stream = Stream(malformed.of, voice)
    yield from stream.head()
    yield from stream.first(malformed.after_tokens)
    yield stream.event(malformed.payload)
    if malformed.then in ("close", "reset"):
        yield Leave(how=malformed.then)
        return
    if malformed.then == "continue":
        yield from stream.rest(malformed.after_tokens)
    yield from stream.end()


def _in_band_error(error: InBandError, voice: Voice) -> Iterator[Act]:
    stream = Stream(error.of, voice)
    yield from stream.head()
    yield from stream.first(error.after_tokens)
    yield stream.event(voice.dialect.error_event(error.status, error.message))
    yield from stream.end()


def _drip(drip: Drip, voice: Voice) -> Iterator[Act]:
    stream = Stream(Answer(), voice)
    event = stream.event(voice.dialect.delta(drip.token, voice.asked, drip.kind), tokens=1)
    yield from stream.head()
    yield from stream.opening()
    while True:
        yield event
        yield Pause(for_s=drip.gap_s)


def _big_event(big: BigEvent, voice: Voice) -> Iterator[Act]:
    stream = Stream(Answer(), voice)
    event = voice.dialect.delta(FILLER, voice.asked, "text")
    before, _, after = event.partition(FILLER.encode())
    yield from stream.head()
    yield from stream.opening()
    yield stream.event(before)
    for size in _blocks(big.size_bytes):
        yield stream.event(b"x" * size)
    yield stream.event(after, tokens=1)
    yield from stream.rest(1)
    yield from stream.end()


def _blocks(size_bytes: int | None) -> Iterator[int]:
    left = size_bytes
    while left is None or left > 0:
        size = BLOCK_BYTES if left is None else min(left, BLOCK_BYTES)
        yield size
        left = None if left is None else left - size
