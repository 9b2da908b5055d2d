"""Every recorded exchange of Anthropic's messages is read as its recording says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded import SLICES, Player, Recording, Size, heard, names_of, player, reading_of, recording

from turnkeeper.domain.stream import ReasoningDelta, StreamEvent
from turnkeeper.infrastructure.providers.anthropic import AnthropicProvider
from turnkeeper.infrastructure.providers.anthropic_answer import AnthropicAnswer
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect

pytestmark = pytest.mark.recording

NAMES = names_of("anthropic")


def reply_of(speaker: Speaker) -> NativeReply:
    return NativeReply(AnthropicAnswer(speaker))


def events_of(case: Recording, size: Size) -> list[StreamEvent]:
    return heard(case, size, provider="anthropic", reply_of=reply_of)


def test_there_are_18_recordings_of_this_shape(recordings: Path) -> None:
    assert len(NAMES) == 18


@pytest.mark.parametrize("size", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_in_any_slices(recordings: Path, name: str, size: Size) -> None:
    case = recording(recordings, name)

    assert reading_of(events_of(case, size)) == case.reading


@pytest.fixture(scope="module")
def stage() -> Iterator[Player]:
    with player(AnthropicDialect()) as stage:
        yield stage


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, stage: Player
) -> None:
    case = recording(recordings, name)
    provider = AnthropicProvider(
        http=stage.http, clock=stage.clock, base_url=f"{stage.wall.url}/v1"
    )

    assert reading_of(stage.play(case, provider, model=name)) == case.reading


def blocks_of(case: Recording) -> list[dict[str, Any]]:
    """What was thought, in the form in which it goes back."""
    kept = [
        event.opaque_json
        for event in events_of(case, 7)
        if isinstance(event, ReasoningDelta) and event.opaque_json
    ]
    assert len(kept) == 1
    blocks: list[dict[str, Any]] = json.loads(kept[0])
    return blocks


def test_recorded_thinking_goes_back_with_its_signature(recordings: Path) -> None:
    case = recording(recordings, "an-16-refusal")

    assert blocks_of(case) == [
        {
            "type": "thinking",
            "thinking": case.expected["reasoning"],
            "signature": "c3ludGhldGljLXNpZ25hdHVyZS1maXh0dXJlLWEtbm90LWEtcmVhbC1zaWduYXR1cmU=",
        }
    ]


def test_recorded_thinking_that_is_redacted_goes_back_as_it_came(recordings: Path) -> None:
    case = recording(recordings, "an-05-redacted-thinking")
    starts = [
        json.loads(line.removeprefix("data:"))["content_block"]
        for line in case.body.decode().splitlines()
        if "redacted_thinking" in line
    ]

    assert blocks_of(case) == starts
