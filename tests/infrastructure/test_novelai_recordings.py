"""Every recorded exchange of NovelAI is read as its recording says it is to be read."""

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
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.novelai import NovelAiProvider
from turnkeeper.infrastructure.providers.novelai_answer import Expected, NovelAiAnswer
from turnkeeper.infrastructure.providers.novelai_subscription import (
    SAFE_TOKENS,
    NovelAiSubscription,
)
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop
from turnkeeper.infrastructure.wall.behaviour import Replay
from turnkeeper.infrastructure.wall.server import Wall

pytestmark = pytest.mark.recording

NOW = datetime(2026, 4, 1, tzinfo=UTC)
KEY = Secret("canary-key")
SLICES = {"whole": None, "1 byte": 1, "7 bytes": 7, "random": "random"}


def read_json(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return read


# Empty where there are no recordings; the tests are skipped then.
FOLDERS = sorted(Path(os.environ.get("TURNKEEPER_RECORDINGS") or "/nowhere").glob("*-*"))
SHAPES = {folder.name: read_json(folder / "meta.json").get("api_shape") for folder in FOLDERS}
NAMES = [name for name, shape in SHAPES.items() if shape == "novelai-native"]
SUBSCRIPTIONS = [name for name, shape in SHAPES.items() if shape == "novelai-subscription"]


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
        return Replay(
            body=self.body, status=self.status, headers=self.headers, slice_bytes="random"
        )


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
        failure = reply_failure(case.status, headers, case.body, provider="novelai", now=NOW)
        return [StreamFailed(failure=failure)]
    speaker = Speaker(provider="novelai", status=case.status, now=NOW)
    reply = NativeReply(NovelAiAnswer(speaker, Expected(max_length=150)))
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
    failure = last.failure if isinstance(last, StreamFailed) else None
    return {
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "others": [event for event in events if isinstance(event, Usage | ToolCallDelta)],
        "finish": last.reason if isinstance(last, Finished) else None,
        "failure": failure.kind.value if failure else None,
        "retry_after_s": failure.retry_after_s if failure else None,
    }


def expected_of(case: Recording) -> dict[str, Any]:
    """The recording's right reading in the same terms; these have neither usage nor calls."""
    said, error = case.expected, case.expected["error"]
    return {
        "text": said.get("text", ""),
        "others": [],
        "finish": None if error else FinishReason(said["finish"]),
        "failure": error["class"] if error else None,
        "retry_after_s": error["retry_after_s"] if error else None,
    }


def test_there_are_3_and_2_recordings_of_these_shapes(recordings: Path) -> None:
    assert (len(NAMES), len(SUBSCRIPTIONS)) == (3, 2)


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
    with Wall() as wall:
        yield wall


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, wall: Wall, http: HttpClient
) -> None:
    case = recording(recordings, name)
    wall.script(case.replay, path="/ai/generate-stream")
    provider = NovelAiProvider(http=http, clock=SystemClock(), base_url=wall.url)
    call = ChatCall(model=a_model("kayra-v1"), conversation=Conversation.of("hello"))

    events = list(provider.stream(call, key=KEY, stop=ThreadStop(), deadline=NEVER))

    assert reading_of(events) == expected_of(case)


@pytest.mark.parametrize("name", SUBSCRIPTIONS)
def test_a_recorded_subscription_gives_its_window(
    recordings: Path, name: str, wall: Wall, http: HttpClient
) -> None:
    case = recording(recordings, name)
    wall.script(case.replay, path="/user/subscription")
    runner = ThreadRunner()
    subscription = NovelAiSubscription(
        http=http, clock=SystemClock(), runner=runner, urls=(f"{wall.url}/user/subscription",)
    )

    window_tokens = subscription.window_tokens(KEY, "kayra-v1")

    runner.close()
    assert window_tokens == case.expected.get("context_tokens", SAFE_TOKENS)


def test_the_recorded_refusal_of_an_old_address_is_no_fault_of_the_key(recordings: Path) -> None:
    case = recording(recordings, "rc-33-nai-400-host-moved")

    assert reading_of(events_of(case, None)) == expected_of(case)
