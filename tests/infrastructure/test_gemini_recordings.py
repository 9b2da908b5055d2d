"""Every recorded exchange of the Gemini API is read as its recording says it is to be read."""

import json
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builders import a_model

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.retry_hint import midnight_pacific_s
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
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
from turnkeeper.infrastructure.providers.gemini import GeminiProvider
from turnkeeper.infrastructure.providers.gemini_answer import GeminiAnswer
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.behaviour import Replay
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.server import Wall

pytestmark = pytest.mark.recording

NOW = datetime(2026, 4, 1, tzinfo=UTC)
SLICES = {"whole": None, "1 byte": 1, "7 bytes": 7, "random": "random"}


def read_json(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return read


# Empty where there are no recordings; the tests are skipped then.
FOLDERS = sorted(Path(os.environ.get("TURNKEEPER_RECORDINGS") or "/nowhere").glob("*-*"))
NAMES = [
    folder.name
    for folder in FOLDERS
    if read_json(folder / "meta.json").get("api_shape") == "gemini"
]


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


def recording(folder: Path, name: str) -> Recording:
    meta = read_json(folder / name / "meta.json")
    return Recording(
        meta=meta,
        expected=read_json(folder / name / "expected.json"),
        body=(folder / name / meta["response_file"]).read_bytes(),
    )


def slices(body: bytes, size: int | str | None) -> Iterator[bytes]:
    dice = random.Random(7)
    at = 0
    while at < len(body):
        step = dice.randint(1, 64) if size == "random" else int(size or len(body))
        yield body[at : at + step]
        at += step


def events_of(case: Recording, size: int | str | None) -> list[StreamEvent]:
    """What the reader makes of a recorded body, or the failure that a status stands for."""
    if case.status >= 400:
        headers = dict(case.headers)
        failure = reply_failure(case.status, headers, case.body, provider="google", now=NOW)
        return [StreamFailed(failure=failure)]
    reply = NativeReply(GeminiAnswer(Speaker(provider="google", status=case.status, now=NOW)))
    events: list[StreamEvent] = []
    for chunk in slices(case.body, size):
        events += reply.feed(chunk)
        if reply.is_over:
            break
    return [*events, *reply.end()]


def reading_of(events: Iterable[StreamEvent]) -> dict[str, Any]:
    """Events in the recordings' own terms."""
    events = list(events)
    last = events[-1]
    finished = last if isinstance(last, Finished) else None
    failure = last.failure if isinstance(last, StreamFailed) else None
    usages = [event for event in events if isinstance(event, Usage)]
    models = [event.model for event in events if isinstance(event, ServingProvider)]
    calls = [event for event in events if isinstance(event, ToolCallDelta)]
    return {
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "reasoning": "".join(event.text for event in events if isinstance(event, ReasoningDelta)),
        "tool_calls": [(call.index, call.name, call.arguments) for call in calls],
        "usage": [usage_fields(usage) for usage in usages],
        "model": models[-1] if models else None,
        "finish": finished.reason if finished else None,
        "raw": finished.raw if finished else (),
        "refusal": finished.refusal if finished else None,
        "failure": class_of(failure) if failure else None,
        "retry_after_s": failure.retry_after_s if failure else None,
    }


def usage_fields(usage: Usage) -> dict[str, int | None]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
    }


def class_of(failure: Failure) -> str:
    return failure.kind.value


def expected_of(case: Recording) -> dict[str, Any]:
    """The recording's right reading in the same terms."""
    said, error = case.expected, case.expected["error"]
    is_malformed = said.get("finish") == "error"
    has_failed = is_malformed or error is not None
    blocked = [said["block_reason"]] if "block_reason" in said else []
    calls = said.get("tool_calls", [])
    return {
        "text": said.get("text", ""),
        "reasoning": said.get("reasoning", ""),
        "tool_calls": [
            (index, call["name"], call["arguments_raw"]) for index, call in enumerate(calls)
        ],
        "usage": [said["usage"]] if said.get("usage") else [],
        "model": said.get("model"),
        "finish": None if has_failed else FinishReason(said["finish"]),
        "raw": () if has_failed else (*said["finish_raw"], *blocked),
        "refusal": said.get("refusal"),
        "failure": "malformed_tool_call" if is_malformed else (error or {}).get("class"),
        "retry_after_s": expected_wait_s(error) if error else None,
    }


def expected_wait_s(error: dict[str, Any]) -> float | None:
    """What the recording says; only a day quota lasts longer, whatever it says."""
    wait: float | None = error["retry_after_s"]
    return midnight_pacific_s(NOW) if error["class"] == "quota" else wait


def test_there_are_21_recordings_of_this_shape(recordings: Path) -> None:
    assert len(NAMES) == 21


@pytest.mark.parametrize("size", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_in_any_slices(
    recordings: Path, name: str, size: int | str | None
) -> None:
    case = recording(recordings, name)

    assert reading_of(events_of(case, size)) == expected_of(case)


@pytest.fixture(scope="module")
def http() -> Iterator[HttpClient]:
    client = HttpClient(user_agent="turnkeeper-tests")
    yield client
    client.close()


@pytest.fixture(scope="module")
def wall() -> Iterator[Wall]:
    with Wall(dialects=(GeminiDialect(),)) as wall:
        yield wall


class LongAgo(SystemClock):
    """A clock that stands in the time of the recordings."""

    def now(self) -> datetime:
        return NOW


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, wall: Wall, http: HttpClient
) -> None:
    case = recording(recordings, name)
    wall.script(
        Replay(body=case.body, status=case.status, headers=case.headers, slice_bytes="random"),
        model=name,
    )
    provider = GeminiProvider(http=http, clock=LongAgo(), base_url=f"{wall.url}/v1beta")
    call = ChatCall(model=a_model(name), conversation=Conversation.of("hello"))

    events = list(
        provider.stream(call, key=Secret("canary-key"), stop=ThreadStop(), deadline=NEVER)
    )

    assert reading_of(events) == expected_of(case)


def test_the_signature_of_a_recorded_call_comes_with_the_call(recordings: Path) -> None:
    case = recording(recordings, "ge-03-tool-signature")
    chunk = json.loads(case.body.partition(b"data: ")[2].partition(b"\r\n")[0])
    signature = chunk["candidates"][0]["content"]["parts"][0]["thoughtSignature"]

    calls = [event for event in events_of(case, 7) if isinstance(event, ToolCallDelta)]

    assert [call.signature for call in calls] == [signature]
