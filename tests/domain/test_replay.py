from dataclasses import replace

import pytest
from builders import a_failure, a_plan, an_attempt
from hypothesis import given
from hypothesis import strategies as st
from past_turns import journal

from turnkeeper.domain import events as ev
from turnkeeper.domain.choice import Choice
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import ServerRoute
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.domain.replay import Difference, replayed
from turnkeeper.domain.steps import KEY_RESTS, NOTHING_CAME

STARTED = ev.TurnStarted(
    route=Route.SERVER,
    attempts=a_plan(2).attempts,
    server_route=ServerRoute.NOT_APPLICABLE.value,
    audience="person",
    policy=TurnPolicy(),
)
PREPARED = ev.AttemptPrepared(attempt_no=0, input_tokens=9, max_output_tokens=None)
LEASED = ev.KeyLeased(attempt_no=0, key_id=1, is_main=True, is_probe=False, without=())
RAN = ev.InvocationStarted(
    attempt_no=0, invocation_no=0, key_id=1, take_back=(), another_may_answer=True
)
ANSWERED = ev.InvocationEnded(attempt_no=0, invocation_no=0, outcome="Answered", reply_chars=5)
BOOKED = ev.KeyBooked(attempt_no=0, invocation_no=0, key_id=1, booking="success")
ENDED = ev.TurnEnded(
    status="completed", responses=1, delivered_by_tool=False, success_model="model-0"
)
HAPPY = (STARTED, PREPARED, LEASED, RAN, ANSWERED, BOOKED, ENDED)
SERVER_ERROR = replace(
    ANSWERED, outcome="Failed", reply_chars=0, failure=a_failure(FailureKind.SERVER_ERROR)
)
OVERLOADED = replace(SERVER_ERROR, failure=a_failure(FailureKind.OVERLOADED))
BOOKED_ERROR = replace(BOOKED, booking="error", error_class="api_error")


def entries(*happened: Event) -> tuple[Entry, ...]:
    return journal(*((float(at_s), event) for at_s, event in enumerate(happened)))


def differences(*happened: Event) -> list[tuple[int, str, str]]:
    """The entries that differ, with what was done, and what would be."""
    found = replayed(entries(*happened)).differences
    return [(one.seq, one.recorded.what, one.would.what) for one in found]


def test_a_turn_that_went_well_is_decided_the_same() -> None:
    again = replayed(entries(*HAPPY))

    assert (again.turn_id, again.decisions, again.differences, again.remarks) == ("t1", 5, (), ())
    assert again.attempts == STARTED.attempts


def test_a_decision_that_differs_is_told_with_both_sides() -> None:
    asked_last = replace(RAN, another_may_answer=False)

    (found,) = replayed(entries(STARTED, PREPARED, LEASED, asked_last)).differences

    assert found.seq == 3
    assert isinstance(found, Difference)
    assert found.recorded.is_of_the_kind(found.would)
    assert found.recorded.unlike(found.would) == {"another may answer"}


WAITED = ev.Waited(attempt_no=0, for_s=1.0, why=KEY_RESTS, until_s=3.0)
OTHERWISE: list[tuple[str, tuple[Event, ...], tuple[int, str, str]]] = [
    ("another attempt", (STARTED, replace(PREPARED, attempt_no=1)), (1, "prepare", "prepare")),
    ("no prepare", (STARTED, PREPARED, replace(PREPARED, attempt_no=1)), (2, "prepare", "lease")),
    (
        "other keys left out",
        (STARTED, PREPARED, replace(LEASED, without=(7,))),
        (2, "lease", "lease"),
    ),
    ("a wait for no reason", (STARTED, PREPARED, WAITED), (2, "wait", "lease")),
    (
        "run again for no reason",
        (STARTED, PREPARED, replace(WAITED, why=NOTHING_CAME), PREPARED, LEASED, RAN),
        (2, "wait", "lease"),
    ),
    ("a key that was not lent", (STARTED, PREPARED, RAN, ANSWERED, BOOKED), (2, "run", "lease")),
    (
        "another key than was lent",
        (STARTED, PREPARED, LEASED, replace(RAN, key_id=2), ANSWERED),
        (3, "run", "run"),
    ),
    ("a change", (STARTED, PREPARED, LEASED, replace(RAN, adjust="Repeat")), (3, "run", "run")),
    (
        "the server is asked too early",
        (STARTED, ev.ServerRouteAsked(answer="failed"), PREPARED),
        (1, "open", "prepare"),
    ),
    (
        "another booking",
        (STARTED, PREPARED, LEASED, RAN, ANSWERED, BOOKED_ERROR, ENDED),
        (5, "book", "book"),
    ),
    (
        "a model that did not rest",
        (STARTED, PREPARED, LEASED, RAN, OVERLOADED, replace(PREPARED, attempt_no=1)),
        (5, "rest", "rest"),
    ),
    (
        "a model that rested",
        (
            STARTED, PREPARED, LEASED, RAN, SERVER_ERROR, BOOKED_ERROR,
            ev.ModelRested(attempt_no=0, for_s=15.0, cause=""), replace(LEASED, without=(1,)),
        ),
        (6, "rest", "rest"),
    ),
    ("another end", (*HAPPY[:-1], replace(ENDED, status="timeout")), (6, "finish", "finish")),
    (
        "a unit that is used",
        (*HAPPY[:-1], ev.QuotaSettled(trigger_key="k", committed=True), ENDED),
        (7, "finish", "finish"),
    ),
    (
        "a notice too many",
        (*HAPPY[:-1], ev.Said(what="fallback_notice", to="person"), ENDED),
        (7, "finish", "finish"),
    ),
    (
        "an error too many",
        (*HAPPY[:-1], ev.Said(what="error", to="person"), ENDED),
        (7, "finish", "finish"),
    ),
    (
        "an error that a sink did not say",
        (*HAPPY[:-1], ev.EffectFailed(effect="error", cause="no"),
         ev.Said(what="error", to="journal"), ENDED),
        (8, "finish", "finish"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("happened", "expected"), [row[1:] for row in OTHERWISE], ids=[row[0] for row in OTHERWISE]
)
def test_each_kind_of_decision_is_compared_and_the_rest_goes_on_from_what_was_done(
    happened: tuple[Event, ...], expected: tuple[int, str, str]
) -> None:
    assert differences(*happened) == [expected]


def test_what_an_older_version_did_not_journal_is_not_compared() -> None:
    older = (
        replace(STARTED, policy=None),
        PREPARED,
        replace(LEASED, without=None),
        replace(RAN, take_back=None, another_may_answer=None),
        *HAPPY[4:],
    )

    again = replayed(entries(*older))

    assert again.differences == ()
    assert again.remarks == (
        "the journal does not say how hard the turn was to try; the defaults are taken",
    )


@pytest.mark.parametrize(
    ("happened", "remark"),
    [
        ((), "nothing was decided in it: the turn never began"),
        ((ENDED,), "nothing was decided in it: the turn never began"),
        (HAPPY[:-1], "the journal ends before the turn does; no more can be compared"),
        (
            (*HAPPY[:2], ev.EffectFailed(effect="turn", cause="a bug"), ENDED),
            "the turn was thrown out of its course: a bug; its end was no decision",
        ),
        (
            (*HAPPY[:2], replace(ENDED, status="error", success_model=None, raised=True)),
            "the turn was given up from outside; its end was no decision",
        ),
    ],
    ids=["nothing", "the same turn again", "killed", "a bug", "an interrupt"],
)
def test_what_cannot_be_compared_is_said(happened: tuple[Event, ...], remark: str) -> None:
    again = replayed(entries(*happened))

    assert (again.differences, again.remarks) == ((), (remark,))


def test_an_opened_server_route_goes_on_with_its_unit() -> None:
    personal = replace(
        STARTED,
        route=Route.PERSONAL,
        attempts=(an_attempt(0, route=Route.PERSONAL),),
        server_route=ServerRoute.MAY_OPEN.value,
    )
    opened = ev.ServerRouteAsked(answer="opened", attempts=(an_attempt(1),), resting=(1,))
    second = (
        replace(PREPARED, attempt_no=1),
        replace(LEASED, attempt_no=1, key_id=2),
        replace(RAN, attempt_no=1, invocation_no=1, key_id=2, another_may_answer=False),
        replace(ANSWERED, attempt_no=1, invocation_no=1),
        replace(BOOKED, attempt_no=1, invocation_no=1, key_id=2),
    )
    happened = (
        personal,
        ev.AttemptUnpreparable(attempt_no=0, cause="no such model"),
        opened,
        ev.QuotaReserved(trigger_key="k"),
        *second,
        ev.Said(what="fallback_notice", to="person"),
        ev.QuotaSettled(trigger_key="k", committed=True),
        replace(ENDED, success_model="model-1"),
    )

    again = replayed(entries(*happened))

    assert (again.decisions, again.differences) == (7, ())


def test_a_refused_turn_ends_at_once() -> None:
    happened = (
        STARTED,
        ev.TurnRefused(kind="cooldown", where="planned route"),
        ev.Said(what="refusal", to="person"),
        ev.TurnEnded(status="skipped", responses=0, delivered_by_tool=False),
    )

    again = replayed(entries(*happened))

    assert (again.decisions, again.differences) == (1, ())


@pytest.mark.parametrize(
    "happened",
    [
        (replace(STARTED, audience="everybody"),),
        (STARTED, LEASED, ANSWERED),
        (STARTED, ANSWERED),
        (STARTED, PREPARED, LEASED, RAN, replace(ANSWERED, outcome="Bored")),
        (STARTED, ev.SignalHeard(signal="thunder")),
        (STARTED, PREPARED, LEASED, replace(RAN, adjust="Stretch")),
    ],
)
def test_a_journal_that_contradicts_itself_is_an_error(happened: tuple[Event, ...]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        replayed(entries(*happened))


@given(
    st.text(max_size=3),
    st.dictionaries(st.text(max_size=3), st.none() | st.booleans() | st.integers() | st.text()),
)
def test_a_choice_agrees_with_itself_and_with_what_says_less(
    what: str, details: dict[str, str | int | bool | None]
) -> None:
    whole = Choice(what=what, attempt_no=1, details=tuple(details.items()))
    less = replace(whole, details=whole.details[1:])

    assert whole.agrees_with(whole)
    assert whole.agrees_with(less)
    assert less.agrees_with(whole)
    assert not whole.agrees_with(replace(whole, attempt_no=2))
