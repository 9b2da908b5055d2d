"""Every recorded exchange of the Gemini API is read as its recording says it is to be read."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from recorded import (
    NOW,
    SLICES,
    Player,
    Reading,
    Recording,
    Size,
    heard,
    names_of,
    player,
    reading_of,
    recording,
)

from turnkeeper.domain.retry_hint import midnight_pacific_s
from turnkeeper.domain.stream import StreamEvent, ToolCallDelta
from turnkeeper.infrastructure.providers.gemini import GeminiProvider
from turnkeeper.infrastructure.providers.gemini_answer import GeminiAnswer
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect

pytestmark = pytest.mark.recording

NAMES = names_of("gemini")


def reply_of(speaker: Speaker) -> NativeReply:
    return NativeReply(GeminiAnswer(speaker))


def events_of(case: Recording, size: Size) -> list[StreamEvent]:
    return heard(case, size, provider="google", reply_of=reply_of)


def numbered(events: list[StreamEvent]) -> Reading:
    """The reading of events, with numbers for ids: the API gives no ids, so they are made up.

    Calls are never told in parts, so each event is one.
    """
    calls = [event for event in events if isinstance(event, ToolCallDelta)]
    told = tuple((str(call.index), call.name or "", call.arguments) for call in calls)
    return replace(reading_of(events), tool_calls=told)


def expected_of(case: Recording) -> Reading:
    """The right reading, with numbers for ids.

    A malformed call is a failure, not an end. What blocks a prompt stands among the words for the
    end. A day quota lasts to the end of the day, whatever the recording says.
    """
    said, right = case.expected, case.reading
    calls = tuple(
        (str(number), call["name"], call["arguments_raw"])
        for number, call in enumerate(said.get("tool_calls", ()))
    )
    right = replace(right, tool_calls=calls)
    if said.get("finish") == "error":
        return replace(right, finish=None, raw=(), confirmed=None, failure="malformed_tool_call")
    if "block_reason" in said:
        return replace(right, raw=(*right.raw, said["block_reason"]))
    if right.failure == "quota":
        return replace(right, retry_after_s=midnight_pacific_s(NOW))
    return right


def test_there_are_21_recordings_of_this_shape(recordings: Path) -> None:
    assert len(NAMES) == 21


@pytest.mark.parametrize("size", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_in_any_slices(recordings: Path, name: str, size: Size) -> None:
    case = recording(recordings, name)

    assert numbered(events_of(case, size)) == expected_of(case)


@pytest.fixture(scope="module")
def stage() -> Iterator[Player]:
    with player(GeminiDialect()) as stage:
        yield stage


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, stage: Player
) -> None:
    case = recording(recordings, name)
    provider = GeminiProvider(
        http=stage.http, clock=stage.clock, base_url=f"{stage.wall.url}/v1beta"
    )

    assert numbered(stage.play(case, provider, model=name)) == expected_of(case)


def test_the_signature_of_a_recorded_call_comes_with_the_call(recordings: Path) -> None:
    case = recording(recordings, "ge-03-tool-signature")
    chunk = json.loads(case.body.partition(b"data: ")[2].partition(b"\r\n")[0])
    signature = chunk["candidates"][0]["content"]["parts"][0]["thoughtSignature"]

    calls = [event for event in events_of(case, 7) if isinstance(event, ToolCallDelta)]

    assert [call.signature for call in calls] == [signature]
