"""Every recorded exchange of NovelAI is read as its recording says it is to be read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from contracts.chat_provider import KEY
from recorded import SLICES, Player, Recording, Size, heard, names_of, player, reading_of, recording

from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.providers.native_reply import NativeReply
from turnkeeper.infrastructure.providers.novelai import NovelAiProvider
from turnkeeper.infrastructure.providers.novelai_answer import Expected, NovelAiAnswer
from turnkeeper.infrastructure.providers.novelai_subscription import (
    SAFE_TOKENS,
    NovelAiSubscription,
)
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.infrastructure.threads import ThreadRunner

pytestmark = pytest.mark.recording

NAMES = names_of("novelai-native")
SUBSCRIPTIONS = names_of("novelai-subscription")


def reply_of(speaker: Speaker) -> NativeReply:
    return NativeReply(NovelAiAnswer(speaker, Expected(max_length=150)))


def events_of(case: Recording, size: Size) -> list[StreamEvent]:
    return heard(case, size, provider="novelai", reply_of=reply_of)


def test_there_are_3_and_2_recordings_of_these_shapes(recordings: Path) -> None:
    assert (len(NAMES), len(SUBSCRIPTIONS)) == (3, 2)


@pytest.mark.parametrize("size", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_in_any_slices(recordings: Path, name: str, size: Size) -> None:
    case = recording(recordings, name)

    assert reading_of(events_of(case, size)) == case.reading


@pytest.fixture(scope="module")
def stage() -> Iterator[Player]:
    with player() as stage:
        yield stage


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, stage: Player
) -> None:
    case = recording(recordings, name)
    provider = NovelAiProvider(http=stage.http, clock=stage.clock, base_url=stage.wall.url)

    events = stage.play(case, provider, model="kayra-v1", path="/ai/generate-stream")

    assert reading_of(events) == case.reading


@pytest.mark.parametrize("name", SUBSCRIPTIONS)
def test_a_recorded_subscription_gives_its_window(
    recordings: Path, name: str, stage: Player
) -> None:
    case = recording(recordings, name)
    stage.wall.script(case.replay, path="/user/subscription")
    runner = ThreadRunner()
    subscription = NovelAiSubscription(
        http=stage.http,
        clock=stage.clock,
        runner=runner,
        urls=(f"{stage.wall.url}/user/subscription",),
    )

    window_tokens = subscription.window_tokens(KEY, "kayra-v1")

    runner.close()
    assert window_tokens == case.expected.get("context_tokens", SAFE_TOKENS)


def test_the_recorded_refusal_of_an_old_address_is_no_fault_of_the_key(recordings: Path) -> None:
    case = recording(recordings, "rc-33-nai-400-host-moved")

    assert reading_of(events_of(case, None)) == case.reading
