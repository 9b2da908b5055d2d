from dataclasses import replace

from builders import a_failure
from past_turns import answered, ended, failed, journal, ran, rescued, started

from turnkeeper.domain import events
from turnkeeper.domain.events import SWEPT_SEQ, Entry, Event
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.owner import Route
from turnkeeper.domain.waterfall import waterfall
from turnkeeper.domain.waterfall_rows import Row, RowKind, Span, Tone, Waterfall


def rows(*happened: tuple[float, Event]) -> tuple[Row, ...]:
    return waterfall(journal((0.0, started()), *happened)).rows


def posted(message_id: str = "m1") -> events.MessagePosted:
    return events.MessagePosted(invocation_no=0, message_id=message_id, origin="stream", chars=9)


def test_a_rescued_turn_is_drawn_whole() -> None:
    assert waterfall(rescued()) == Waterfall(
        length_s=3.3,
        rows=(
            Row(
                kind=RowKind.INVOCATION,
                label="model-0, key A (no. 1)",
                span=Span(0.3, 1.0),
                tone=Tone.BAD,
                says="rate limit 429",
                first_progress_s=0.5,
            ),
            Row(
                kind=RowKind.DELIVERY,
                label="message m1",
                span=Span(0.6, 2.6),
                tone=Tone.UNDONE,
                says="taken back",
            ),
            Row(
                kind=RowKind.INVOCATION,
                label="model-1, key A (no. 1)",
                span=Span(1.1, 3.0),
                tone=Tone.GOOD,
                says="answered",
            ),
            Row(
                kind=RowKind.TOOL, label="roll", span=Span(1.75, 2.25), tone=Tone.GOOD, says="done"
            ),
            Row(
                kind=RowKind.END,
                label="end",
                span=Span(3.2, 3.2),
                tone=Tone.GOOD,
                says="completed by model-1",
            ),
        ),
    )


def test_nothing_is_drawn_of_nothing() -> None:
    assert waterfall(()) == Waterfall(rows=(), length_s=0.0)


def test_a_silence_before_the_first_progress_and_one_that_ended_it_are_marked() -> None:
    (row, *_) = rows(
        (1.0, ran(0, 0)),
        (4.0, events.FirstProgress(invocation_no=0, after_s=3.0)),
        (4.5, posted()),
        (9.0, replace(failed(0, 0, FailureKind.TIMEOUT), detail="silence")),
    )

    assert row.quiet == (Span(1.0, 4.0), Span(4.5, 9.0))
    assert row.first_progress_s == 4.0


def test_text_may_have_come_between_the_first_progress_and_the_end() -> None:
    (row, *_) = rows(
        (1.0, ran(0, 0)),
        (1.5, events.FirstProgress(invocation_no=0, after_s=0.5)),
        (9.0, answered(0, 0)),
    )

    assert row.quiet == ()


def test_the_time_of_a_tool_is_no_silence() -> None:
    tool = events.ToolRan(invocation_no=0, name="roll", nth=0, state="done", took_s=5.0)

    (row, *_) = rows((1.0, ran(0, 0)), (6.5, tool), (7.0, answered(0, 0)))

    assert row.quiet == ()


def test_keys_are_lettered_as_the_turn_meets_them() -> None:
    drawn = rows((0.0, ran(0, 0, 7)), (0.1, failed(0, 0)), (0.2, ran(0, 1, 3)), (0.3, ran(1, 2, 7)))

    assert [row.label for row in drawn] == [
        "model-0, key A (no. 7)",
        "model-0, key B (no. 3)",
        "model-1, key A (no. 7)",
    ]


def test_an_invocation_without_a_key_says_so() -> None:
    (row,) = rows((0.0, ran(0, 0, None)))

    assert (row.label, row.says) == ("model-0, without a key", "did not end")


def test_what_was_changed_for_an_invocation_is_said() -> None:
    shrunk = replace(ran(0, 0), adjust="WithoutMedia")

    (row,) = rows((0.0, shrunk), (0.5, answered(0, 0)))

    assert row.says == "answered, changed: without media"


def test_a_wait_reaches_back() -> None:
    (row,) = rows((5.0, events.Waited(attempt_no=0, for_s=2.0, why="its key is coming back")))

    assert (row.span, row.says) == (Span(3.0, 5.0), "waited: its key is coming back")


def test_a_message_that_nobody_took_back_is_kept_to_the_end() -> None:
    drawn = rows((0.5, ran(0, 0)), (1.0, posted()), (1.2, answered(0, 0)), (1.5, ended()))

    assert (drawn[1].span, drawn[1].tone) == (Span(1.0, 1.5), Tone.GOOD)
    assert drawn[1].says == "kept (stream, 9 characters)"


def test_a_message_that_is_stuck_says_why() -> None:
    stuck = events.MessageStuck(message_id="m1", cause="forbidden")

    drawn = rows((0.5, ran(0, 0)), (1.0, posted()), (1.2, stuck), (1.5, ended("error")))

    assert drawn[1].says == "stays, could not be taken back: forbidden"
    assert (drawn[1].span, drawn[1].tone) == (Span(1.0, 1.5), Tone.BAD)


def test_notes_stand_where_they_were_made() -> None:
    asked = events.ServerRouteAsked(answer="withheld", cause="member keys only")
    drawn = rows(
        (0.1, events.NoKeyLeft(attempt_no=0, next_in_s=18.8)),
        (0.2, events.AttemptUnpreparable(attempt_no=1, cause="too long")),
        (0.3, asked),
        (0.4, events.TurnRefused(kind="user_quota", where="server route")),
        (0.5, events.SignalHeard(signal="stop_requested")),
        (0.6, events.EffectFailed(effect="ledger", cause="away")),
        (0.7, events.Said(what="fallback_notice", to="person")),
    )

    assert [(row.label, row.says, row.tone) for row in drawn] == [
        ("model-0", "no key: all rest, the next in 18.8 s", Tone.BAD),
        ("model-1", "passed over: too long", Tone.BAD),
        ("server route", "withheld, member keys only", Tone.NEUTRAL),
        ("refused", "user quota", Tone.BAD),
        ("signal", "heard: stop requested", Tone.NEUTRAL),
        ("on the side", "ledger did not work: away", Tone.BAD),
        ("notice", "told the person: fallback notice", Tone.NEUTRAL),
    ]


def test_models_of_the_server_route_are_known_by_name() -> None:
    more = started(Route.SERVER, Route.SERVER, Route.SERVER).attempts
    asked = events.ServerRouteAsked(answer="opened", attempts=more[2:])

    drawn = rows((0.1, asked), (0.2, ran(2, 0)))

    assert drawn[1].label == "model-2, key A (no. 1)"


def test_a_turn_that_died_is_drawn_as_far_as_it_is_known() -> None:
    swept = events.TurnSwept(by="other", silent_s=40.0, taken_back=("m1",), stuck=("m2",))
    entries = (
        *journal((0.0, started()), (0.5, ran(0, 0)), (0.6, posted("m1")), (0.8, posted("m2"))),
        Entry(turn_id="t1", seq=SWEPT_SEQ, at_s=90.0, event=swept),
    )

    drawn = waterfall(entries)

    assert drawn.length_s == 0.8
    assert [(row.label, row.says) for row in drawn.rows] == [
        ("model-0, key A (no. 1)", "did not end"),
        ("message m1", "taken back by a sweep"),
        ("message m2", "stays, could not be taken back"),
        ("lost", "its process died; swept up by other"),
    ]


def test_ends_without_a_failure_are_said_in_words() -> None:
    empty = events.InvocationEnded(attempt_no=0, invocation_no=0, outcome="TimedOut")
    failure = a_failure(FailureKind.TIMEOUT)
    timed_out = events.InvocationEnded(
        attempt_no=0, invocation_no=0, outcome="TimedOut", failure=failure, detail="silence"
    )

    (plain,) = rows((0.0, ran(0, 0)), (0.5, empty))
    (silent,) = rows((0.0, ran(0, 0)), (0.5, timed_out))

    assert (plain.says, plain.tone) == ("timed out", Tone.NEUTRAL)
    assert (silent.says, silent.tone) == ("timeout, silence", Tone.BAD)
