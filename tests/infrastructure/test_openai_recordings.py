"""Every recorded exchange of OpenAI's shape is read as its recording says it is to be read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import (
    NOW,
    SLICES,
    Player,
    Reading,
    Recording,
    Size,
    heard,
    kept,
    names_of,
    player,
    read_json,
    recording,
)
from recorded import reading_of as read_exactly

from turnkeeper.domain.error_report import ErrorReport, read_error
from turnkeeper.domain.retry_hint import hinted_s, midnight_pacific_s
from turnkeeper.domain.signals import recognise, says_output_limit
from turnkeeper.domain.stream import StreamEvent
from turnkeeper.infrastructure.providers.dialects import DIALECTS
from turnkeeper.infrastructure.providers.openai_compatible import OpenAICompatibleProvider
from turnkeeper.infrastructure.providers.openai_reply import OpenAIReply
from turnkeeper.infrastructure.providers.provider_errors import parsed
from turnkeeper.infrastructure.providers.speaker import Speaker

pytestmark = pytest.mark.recording

DIALECT_NAMES = {
    name: dialect.name for dialect in DIALECTS for name in (dialect.name, *dialect.aliases)
}
# The recordings have one class for these; here each is an own kind.
BAD_REQUESTS = {"bad_request", "capability", "malformed_tool_call"}

OPENAI = names_of("openai-chat")
ERRORS = [
    folder.name
    for folder in kept()
    if isinstance(error := read_json(folder / "expected.json").get("error"), dict)
    and "class" in error
    and "discord" not in read_json(folder / "meta.json")["api_shape"]
]


def provider_of(case: Recording) -> str:
    """By whose rules its errors are recognised."""
    name = str(case.meta["provider"]).partition(" (")[0]
    return DIALECT_NAMES.get(name, name)


def reply_of(speaker: Speaker) -> OpenAIReply:
    return OpenAIReply(lambda: speaker)


def events_of(case: Recording, size: Size) -> list[StreamEvent]:
    return heard(case, size, provider=provider_of(case), reply_of=reply_of)


def reading_of(events: list[StreamEvent]) -> Reading:
    reading = read_exactly(events)
    return replace(reading, failure=reading.failure and class_of(reading.failure))


def class_of(kind: str) -> str:
    return "bad_request" if kind in BAD_REQUESTS else kind


def expected_of(case: Recording) -> Reading:
    """The right reading.

    Here the outcome says whether it failed: an answer may have an error and be one all the same,
    and one that breaks off has none and failed.
    """
    said, error = case.expected, case.expected["error"]
    if said["outcome"] in ("error", "incomplete_no_finish"):
        return replace(
            case.reading,
            finish=None,
            raw=(),
            confirmed=None,
            refusal=None,
            failure=error["class"] if error else "network",
            retry_after_s=expected_wait_s(error) if error else None,
        )
    return replace(
        case.reading,
        finish=said.get("finish") or "stop",
        raw=expected_words(said),
        confirmed=said["outcome"] != "ok_unconfirmed",
        refusal=said.get("refusal") or None,
        failure=None,
        retry_after_s=None,
    )


def expected_words(said: dict[str, Any]) -> tuple[str, ...]:
    """A gateway's word and the word of who stands behind it."""
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
def test_a_recording_is_read_right_in_any_slices(recordings: Path, name: str, size: Size) -> None:
    case = recording(recordings, name)

    assert reading_of(events_of(case, size)) == expected_of(case)


@pytest.fixture(scope="module")
def stage() -> Iterator[Player]:
    with player() as stage:
        yield stage


@pytest.mark.parametrize("name", OPENAI)
def test_a_recording_is_read_right_from_a_socket(
    recordings: Path, name: str, stage: Player
) -> None:
    case = recording(recordings, name)
    speaks = (dialect for dialect in DIALECTS if dialect.name == provider_of(case))
    dialect = replace(next(speaks, DIALECTS[-1]), base_url=stage.wall.base_url)
    provider = OpenAICompatibleProvider(http=stage.http, clock=stage.clock, dialect=dialect)

    assert reading_of(stage.play(case, provider, model=name)) == expected_of(case)


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
        provider=provider_of(case),
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

    kind = "output_limit" if says_output_limit(report) else class_of(recognised.kind.value)
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
