import io
import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fakes import FrozenClock
from past_turns import CANARY, ended, journal, rescued, started

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry, Event
from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.telemetry.event_fields import fields_of, level_of
from turnkeeper.infrastructure.telemetry.event_log import LEVELS, EventLog
from turnkeeper.infrastructure.threads import ThreadRunner


@pytest.fixture
def aside() -> Iterator[Aside]:
    runner = ThreadRunner()
    yield Aside(runner)
    runner.close()


def written(aside: Aside, entries: tuple[Entry, ...], **how: Any) -> str:
    out = io.StringIO()
    log = EventLog(aside=aside, clock=FrozenClock(), out=out, **({"as_json": True} | how))
    for entry in entries:
        log(entry)
    assert aside.flush(30)
    return out.getvalue()


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_event_is_a_line_with_its_turn(aside: Aside) -> None:
    line = lines(
        written(aside, journal((0.25, events.MessageStuck(message_id="7", cause="50013"))))
    )

    assert line == [
        {
            "timestamp": "2026-11-30T12:00:00.000+00:00",
            "level": "warning",
            "event": "message_stuck",
            "turn_id": "t1",
            "seq": 0,
            "at_s": 0.25,
            "message_id": "7",
            "cause": "50013",
        }
    ]


def test_every_event_is_written_at_the_lowest_level(aside: Aside) -> None:
    assert [line["seq"] for line in lines(written(aside, rescued(), level="debug"))] == list(
        range(len(rescued()))
    )


def test_a_turn_that_goes_well_is_said_in_a_few_lines(aside: Aside) -> None:
    said = [(line["level"], line["event"]) for line in lines(written(aside, rescued()))]

    assert said == [
        ("info", "turn_started"),
        ("warning", "invocation_ended"),
        ("info", "invocation_ended"),
        ("info", "turn_ended"),
    ]


@pytest.mark.parametrize(("status", "level"), [("completed", "info"), ("error", "error")])
def test_a_bad_end_is_loud(status: str, level: str) -> None:
    assert level_of(ended(status)) == level


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_no_event_has_a_field_that_hides_one_of_each_line(kind: type[Event]) -> None:
    assert {"level", "event", "seq", "timestamp", "turn_id", "at_s"}.isdisjoint(
        kind.__dataclass_fields__
    )


def test_no_line_holds_what_the_provider_said_or_a_secret(aside: Aside) -> None:
    leaky = journal(
        (0.0, started()),
        (0.1, events.EffectFailed(effect="finalize", cause=f"no, {CANARY}")),
        (0.2, events.QuotaReserved(trigger_key="trigger")),
    )

    text = written(aside, (*leaky, *rescued()), level="debug")

    assert "[redacted]" in text
    assert CANARY not in text
    assert "private thing" not in text
    assert "trigger" not in text.replace("trigger_key", "")


def test_a_failure_is_its_kind_and_what_it_is_known_by(aside: Aside) -> None:
    failure = lines(written(aside, rescued()))[1]["failure"]

    assert failure == {"kind": "rate_limit", "status": 429}


def test_long_texts_and_long_lists_are_cut() -> None:
    long = events.TurnSwept(by="x" * 1000, silent_s=1.0, taken_back=("m",) * 100)

    said = fields_of(long)

    assert (len(said["by"]), len(said["taken_back"])) == (200, 20)


def test_text_is_pairs_on_one_line(aside: Aside) -> None:
    (line,) = written(
        aside, journal((1.0, events.MessageStuck(message_id="7", cause="a\nb"))), as_json=False
    ).splitlines()

    assert line.startswith("timestamp=2026-11-30T12:00:00.000+00:00 level=warning event=message_st")
    assert "turn_id=t1" in line
    assert "a\\nb" in line


def test_text_has_no_lists_and_nothing_that_says_nothing(aside: Aside) -> None:
    first, second, *_ = written(aside, rescued(), as_json=False).splitlines()

    assert "attempts=wall:model-0,wall:model-1 " in first
    assert "failure_kind=rate_limit failure_status=429 reply_chars=0" in second
    assert "resting" not in first
    assert "response_model" not in second


def test_levels_are_those_that_can_be_set() -> None:
    from turnkeeper.interfaces.settings import Settings

    accepted = Settings.model_fields["log_level"].annotation

    assert get_args(accepted) == LEVELS
