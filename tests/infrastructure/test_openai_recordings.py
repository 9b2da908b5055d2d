"""Every recorded exchange of OpenAI's shape is read as its recording says it is to be read."""

import json
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builders import a_model

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.error_report import ErrorReport, read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.retry_hint import hinted_s, midnight_pacific_s
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.signals import recognise, says_output_limit
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
from turnkeeper.infrastructure.providers.dialects import DIALECTS
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.providers.openai_reply import OpenAIReply
from turnkeeper.infrastructure.providers.provider_errors import parsed, reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.behaviour import Replay
from turnkeeper.infrastructure.wall.server import Wall

pytestmark = pytest.mark.recording

NOW = datetime(2026, 4, 1, tzinfo=UTC)
DIALECT_NAMES = {
    name: dialect.name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)
}
# The recordings have one class for these; here each is an own kind.
BAD_REQUESTS = {FailureKind.BAD_REQUEST, FailureKind.CAPABILITY, FailureKind.MALFORMED_TOOL_CALL}


def read_json(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return read


# Empty where there are no recordings; the tests are skipped then.
FOLDERS = sorted(Path(os.environ.get("TURNKEEPER_RECORDINGS") or "/nowhere").glob("*-*"))
OPENAI = [
    folder.name
    for folder in FOLDERS
    if read_json(folder / "meta.json").get("api_shape") == "openai-chat"
]
ERRORS = [
    folder.name
    for folder in FOLDERS
    if isinstance(error := read_json(folder / "expected.json").get("error"), dict)
    and "class" in error
    and "discord" not in read_json(folder / "meta.json")["api_shape"]
]
SLICES = {"whole": None, "1 byte": 1, "7 bytes": 7, "random": "random"}


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
    def provider(self) -> str:
        name = str(self.meta["provider"]).partition(" (")[0]
        return DIALECT_NAMES.get(name, name)

    @property
    def speaker(self) -> Speaker:
        return Speaker(provider=self.provider, status=self.status, now=NOW)


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
        failure = reply_failure(case.status, headers, case.body, provider=case.provider, now=NOW)
        return [StreamFailed(failure=failure)]
    reply = OpenAIReply(case.speaker)
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
    return {
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "reasoning": "".join(event.text for event in events if isinstance(event, ReasoningDelta)),
        "tool_calls": calls_of(event for event in events if isinstance(event, ToolCallDelta)),
        "usage": usage_fields(usages[-1]) if usages else None,
        "usages": len(usages),
        "model": models[-1] if models else None,
        "refusal": finished.refusal if finished else None,
        "finish": finished.reason if finished else None,
        "raw": finished.raw if finished else (),
        "confirmed": finished.confirmed if finished else None,
        "failure": class_of(failure) if failure else None,
        "retry_after_s": failure.retry_after_s if failure else None,
    }


def calls_of(deltas: Iterable[ToolCallDelta]) -> list[tuple[str, str, str]]:
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        call = calls.setdefault(delta.index, [delta.call_id or "", delta.name or "", ""])
        call[2] += delta.arguments
    return [(call_id, name, arguments) for _, (call_id, name, arguments) in sorted(calls.items())]


def usage_fields(usage: Usage) -> dict[str, int | None]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cached_tokens": usage.cached_tokens,
    }


def class_of(failure: Failure) -> str:
    return "bad_request" if failure.kind in BAD_REQUESTS else failure.kind.value


def expected_of(case: Recording) -> dict[str, Any]:
    """The recording's right reading in the same terms."""
    said = case.expected
    outcome, error = said["outcome"], said["error"]
    finished = outcome not in ("error", "incomplete_no_finish")
    return {
        "text": said.get("text", ""),
        "reasoning": said.get("reasoning", ""),
        "tool_calls": [expected_call(call) for call in said.get("tool_calls", [])],
        "usage": said.get("usage"),
        "usages": 1 if said.get("usage") else 0,
        "model": said.get("model"),
        "refusal": (said.get("refusal") or None) if finished else None,
        "finish": FinishReason(said.get("finish") or "stop") if finished else None,
        "raw": expected_words(said) if finished else (),
        "confirmed": outcome != "ok_unconfirmed" if finished else None,
        "failure": None if finished else (error or {"class": "network"})["class"],
        "retry_after_s": None if finished or not error else expected_wait_s(error),
    }


def expected_call(call: dict[str, Any]) -> tuple[str, str, str]:
    """No arguments, and null, mean an empty object, unless the call was cut."""
    raw = call["arguments_raw"]
    nothing = call["arguments_valid"] and raw in ("", "null")
    return call["id"], call["name"], "{}" if nothing else raw


def expected_words(said: dict[str, Any]) -> tuple[str, ...]:
    natives = said["native_finish_raw"] or said["finish_raw"]
    pairs = zip(said["finish_raw"], natives, strict=True)
    return tuple(word for pair in pairs for word in dict.fromkeys(pair))


def expected_wait_s(error: dict[str, Any]) -> float | None:
    """What the recording says, and where it only gives the instant of a reset, the time to it."""
    if "reset_epoch_ms" in error:
        return float(error["reset_epoch_ms"]) / 1000 - NOW.timestamp()
    wait: float | None = error["retry_after_s"]
    return wait


def test_there_are_97_recordings_of_this_shape(recordings: Path) -> None:
    assert len(OPENAI) == 97


@pytest.mark.parametrize("size", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("name", OPENAI)
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
    with Wall() as wall:
        yield wall


class LongAgo(SystemClock):
    """A clock that stands in the time of the recordings."""

    def now(self) -> datetime:
        return NOW


@pytest.mark.parametrize("name", OPENAI)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, wall: Wall, http: HttpClient
) -> None:
    case = recording(recordings, name)
    wall.script(
        Replay(body=case.body, status=case.status, headers=case.headers, slice_bytes="random"),
        model=name,
    )
    dialect = next((dialect for dialect in DIALECTS if dialect.name == case.provider), DIALECTS[-1])
    provider = OpenAICompatibleProvider(
        http=http, clock=LongAgo(), dialect=replace(dialect, base_url=wall.base_url)
    )
    call = ChatCall(model=a_model(name), conversation=Conversation.of("hello"))

    events = list(
        provider.stream(call, key=Secret("canary-key"), stop=ThreadStop(), deadline=NEVER)
    )

    assert reading_of(events) == expected_of(case)


def error_body(case: Recording) -> object:
    """The recorded error itself: the whole body, or the part of a stream that has it."""
    if not case.expected["error"]["in_band"]:
        return parsed(case.body)
    text = case.body.decode()
    lines = [line for line in text.splitlines() if line.startswith("data:") and '"error"' in line]
    return parsed((lines[-1][5:] if lines else text[text.rindex("\n{") :]).encode())


def report_of(case: Recording) -> ErrorReport:
    return read_error(
        error_body(case),
        provider=case.provider,
        status=case.status,
        headers=case.headers,
        in_band=case.expected["error"]["in_band"],
    )


def test_there_are_61_recorded_errors(recordings: Path) -> None:
    assert len(ERRORS) == 61


@pytest.mark.parametrize("name", ERRORS)
def test_a_recorded_error_of_any_provider_is_recognised(recordings: Path, name: str) -> None:
    case = recording(recordings, name)
    report = report_of(case)

    recognised = recognise(report, now=NOW)

    kind = "output_limit" if says_output_limit(report) else class_of(recognised)
    assert kind == case.expected["error"]["class"]


@pytest.mark.parametrize("name", ERRORS)
def test_the_wait_that_a_recorded_error_asks_for_is_read(recordings: Path, name: str) -> None:
    case = recording(recordings, name)
    report = report_of(case)

    wait_s = hinted_s(report.headers, report.message, dict(report.details), now=NOW)

    assert wait_s == expected_wait_s(case.expected["error"])


@pytest.mark.parametrize("name", ERRORS)
def test_a_failure_waits_as_long_as_its_error_asks(recordings: Path, name: str) -> None:
    """Only a day quota of Gemini lasts longer than it says."""
    case = recording(recordings, name)

    failure = recognise(report_of(case), now=NOW)

    day = midnight_pacific_s(NOW) if failure.rule == "day-quota-gemini" else None
    assert failure.retry_after_s == (day or expected_wait_s(case.expected["error"]))


@pytest.mark.parametrize("name", ERRORS)
def test_code_type_and_message_of_a_recorded_error_are_read(recordings: Path, name: str) -> None:
    case = recording(recordings, name)
    said = case.expected["error"]

    report = report_of(case)

    code = None if said["code"] is None else str(said["code"])
    assert (report.code, report.type, report.message) == (code, said["type"], said["message"] or "")
