"""Recorded exchanges of real providers, how they are played, and what is to be read of them."""

import json
import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from builders import a_model
from native_calls import asked

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.stream import (
    Finished,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.wall.behaviour import Replay
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.server import Wall

NOW = datetime(2026, 4, 1, tzinfo=UTC)
SLICES = {"whole": None, "1 byte": 1, "7 bytes": 7, "random": "random"}
COUNTS = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "cached_tokens")

Size = int | str | None  # of a slice, in bytes; None is all at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is read of an exchange, in the recordings' own terms.

    Attributes:
        tool_calls: Their ids, names and arguments.
        usages: As often as it was reported.
        finish: Why it ended; None if it failed.
        failure: The class of the failure; None if there was none.
    """

    text: str
    reasoning: str
    tool_calls: tuple[tuple[str, str, str], ...]
    usages: tuple[dict[str, int | None], ...]
    model: str | None
    finish: str | None
    raw: tuple[str, ...]
    confirmed: bool | None
    refusal: str | None
    failure: str | None
    retry_after_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded exchange and its right reading."""

    meta: dict[str, Any]
    expected: dict[str, Any]
    body: bytes

    @property
    def status(self) -> int:
        return int(self.meta["http"]["status"])

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.meta["http"]["headers"].items())

    @property
    def replay(self) -> Replay:
        """The same reply from the wall."""
        return Replay(
            body=self.body, status=self.status, headers=self.headers, slice_bytes="random"
        )

    @property
    def reading(self) -> Reading:
        """The right reading, where a shape has nothing of its own to say about it."""
        said, error = self.expected, self.expected["error"]
        return Reading(
            text=said.get("text", ""),
            reasoning=said.get("reasoning", ""),
            tool_calls=tuple(map(expected_call, said.get("tool_calls", ()))),
            usages=(said["usage"],) if said.get("usage") else (),
            model=said.get("model"),
            finish=None if error else said.get("finish"),
            raw=() if error else tuple(said.get("finish_raw", ())),
            confirmed=None if error else True,
            refusal=said.get("refusal"),
            failure=error["class"] if error else None,
            retry_after_s=error["retry_after_s"] if error else None,
        )


class Reply(Protocol):
    """What bytes go into and events come out of."""

    @property
    def is_over(self) -> bool: ...

    def feed(self, chunk: bytes) -> Iterable[StreamEvent]: ...

    def end(self) -> Iterable[StreamEvent]: ...


class LongAgo(SystemClock):
    """A clock that stands in the time of the recordings."""

    def now(self) -> datetime:
        return NOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """A wall that plays recordings, and what a provider needs to listen to it."""

    wall: Wall
    http: HttpClient
    clock: LongAgo

    def play(
        self, case: Recording, provider: ChatProvider, *, model: str, path: str | None = None
    ) -> list[StreamEvent]:
        """Ask the provider for that model, which the wall answers as recorded.

        Args:
            path: Where the wall is asked; None is where its dialect says.
        """
        self.wall.script(case.replay, model=None if path else model, path=path)
        return asked(
            provider, ChatCall(model=a_model(model), conversation=Conversation.of("hello"))
        )


@contextmanager
def player(dialect: Dialect | None = None) -> Iterator[Player]:
    """A player whose wall speaks that dialect, or else OpenAI's."""
    with (
        Wall(dialects=(dialect or OpenAiDialect(),)) as wall,
        closing(HttpClient(user_agent="turnkeeper-tests")) as http,
    ):
        yield Player(wall=wall, http=http, clock=LongAgo())


def kept() -> list[Path]:
    """The folders of all recordings; none where there are no recordings: their tests skip then."""
    return sorted(Path(os.environ.get("TURNKEEPER_RECORDINGS") or "/nowhere").glob("*-*"))


def names_of(api_shape: str) -> list[str]:
    """The recordings of a shape."""
    return [
        folder.name
        for folder in kept()
        if read_json(folder / "meta.json").get("api_shape") == api_shape
    ]


def read_json(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return read


def recording(folder: Path, name: str) -> Recording:
    meta = read_json(folder / name / "meta.json")
    return Recording(
        meta=meta,
        expected=read_json(folder / name / "expected.json"),
        body=(folder / name / meta["response_file"]).read_bytes(),
    )


def slices(body: bytes, size: Size) -> Iterator[bytes]:
    dice = random.Random(7)
    at = 0
    while at < len(body):
        step = dice.randint(1, 64) if size == "random" else int(size or len(body))
        yield body[at : at + step]
        at += step


def heard(
    case: Recording, size: Size, *, provider: str, reply_of: Callable[[Speaker], Reply]
) -> list[StreamEvent]:
    """What a reader makes of a recorded body, or the failure that a status stands for."""
    if case.status >= 400:
        headers = dict(case.headers)
        failure = reply_failure(case.status, headers, case.body, provider=provider, now=NOW)
        return [StreamFailed(failure=failure)]
    reply = reply_of(Speaker(provider=provider, status=case.status, now=NOW))
    events: list[StreamEvent] = []
    for chunk in slices(case.body, size):
        events += reply.feed(chunk)
        if reply.is_over:
            break
    return [*events, *reply.end()]


def reading_of(events: list[StreamEvent]) -> Reading:
    """Events in the recordings' own terms."""
    last = events[-1]
    finished = last if isinstance(last, Finished) else None
    failure = last.failure if isinstance(last, StreamFailed) else None
    models = [event.model for event in events if isinstance(event, ServingProvider)]
    return Reading(
        text="".join(event.text for event in events if isinstance(event, TextDelta)),
        reasoning="".join(event.text for event in events if isinstance(event, ReasoningDelta)),
        tool_calls=calls_of(event for event in events if isinstance(event, ToolCallDelta)),
        usages=tuple(counts_in(event) for event in events if isinstance(event, Usage)),
        model=models[-1] if models else None,
        finish=finished.reason.value if finished else None,
        raw=finished.raw if finished else (),
        confirmed=finished.confirmed if finished else None,
        refusal=finished.refusal if finished else None,
        failure=failure.kind.value if failure else None,
        retry_after_s=failure.retry_after_s if failure else None,
    )


def calls_of(deltas: Iterable[ToolCallDelta]) -> tuple[tuple[str, str, str], ...]:
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        call = calls.setdefault(delta.index, [delta.call_id or "", delta.name or "", ""])
        call[2] += delta.arguments
    return tuple((call[0], call[1], call[2]) for _, call in sorted(calls.items()))


def counts_in(usage: Usage) -> dict[str, int | None]:
    return {name: getattr(usage, name) for name in COUNTS}


def expected_call(call: dict[str, Any]) -> tuple[str, str, str]:
    """No arguments, and null, mean an empty object, unless the call was cut."""
    raw = call["arguments_raw"]
    nothing = call["arguments_valid"] and raw in ("", "null")
    return call["id"], call["name"], "{}" if nothing else raw
