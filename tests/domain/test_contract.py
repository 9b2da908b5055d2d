"""Every rule of the contract finds the fault that it is for, in the journal of a real turn."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from builders import USER, a_request
from fakes import FrozenClock, InlineRunner, Script, ScriptedProvider, fails, says
from turns import Bench, a_server, a_user

from turnkeeper.domain import contract
from turnkeeper.domain import events as ev
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.contract import Bounds, breaches
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import ServerRoute

LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"
Journal = tuple[ev.Entry, ...]
Spoil = Callable[[list[ev.Event]], list[ev.Event]]


def a_journal(user: bool = True, **scripts: Script | list[Script]) -> Journal:
    clock = FrozenClock()
    turn = Bench(
        ScriptedProvider(**scripts),
        server=a_server("alpha", quota=QuotaRule(enabled=True, daily_per_user=1)),
        user=a_user("mine") if user else a_user(),
        user_keys=2,
        clock=clock,
        runner=InlineRunner(clock),
    )
    turn.run(a_request(user_id=USER.id, trigger_id="t"))
    return turn.recorder.entries


def lent() -> Journal:
    """Two personal keys fail, the second one with text on screen; then the server answers."""
    limited = fails(FailureKind.RATE_LIMIT)
    return a_journal(mine=[limited, fails(FailureKind.RATE_LIMIT, LONG)], alpha=says("Hello."))


def failed() -> Journal:
    """A server turn in which everything fails."""
    return a_journal(user=False, alpha=fails(FailureKind.OVERLOADED))


# ── spoiling ────────────────────────────────────────────────────────────────────────────────


def index_of(events: list[ev.Event], kind: type[ev.Event], nth: int = 0) -> int:
    return [n for n, event in enumerate(events) if isinstance(event, kind)][nth]


def without(kind: type[ev.Event], nth: int = 0) -> Spoil:
    def spoil(events: list[ev.Event]) -> list[ev.Event]:
        at = index_of(events, kind, nth)
        return events[:at] + events[at + 1 :]

    return spoil


def twice(kind: type[ev.Event]) -> Spoil:
    def spoil(events: list[ev.Event]) -> list[ev.Event]:
        at = index_of(events, kind)
        return events[: at + 1] + events[at:]

    return spoil


def after(kind: type[ev.Event], more: ev.Event, nth: int = 0) -> Spoil:
    def spoil(events: list[ev.Event]) -> list[ev.Event]:
        at = index_of(events, kind, nth) + 1
        return [*events[:at], more, *events[at:]]

    return spoil


def changed(kind: type[ev.Event], nth: int = 0, **changes: object) -> Spoil:
    def spoil(events: list[ev.Event]) -> list[ev.Event]:
        at = index_of(events, kind, nth)
        one = replace(events[at], **changes)  # type: ignore[arg-type]
        return [*events[:at], one, *events[at + 1 :]]

    return spoil


def paid_by_the_user(events: list[ev.Event]) -> list[ev.Event]:
    asked = events[index_of(events, ev.ServerRouteAsked)]
    assert isinstance(asked, ev.ServerRouteAsked)
    attempts = tuple(replace(attempt, route=Route.PERSONAL) for attempt in asked.attempts)
    return changed(ev.ServerRouteAsked, attempts=attempts)(events)


def asked_at_once(events: list[ev.Event]) -> list[ev.Event]:
    asked = events[index_of(events, ev.ServerRouteAsked)]
    first, *others = without(ev.ServerRouteAsked)(events)
    return [first, asked, *others]


def spoilt(journal: Journal, spoil: Spoil) -> Journal:
    events = spoil([entry.event for entry in journal])
    return tuple(
        ev.Entry(turn_id="turn", seq=seq, at_s=0.0, event=event) for seq, event in enumerate(events)
    )


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is done to a journal, and the rules that it breaks by that."""

    rules: tuple[str, ...]
    spoil: Spoil
    journal: Callable[[], Journal] = lent


STARTED = ev.InvocationStarted
FAULTS = {
    "it ends twice": Fault(rules=("the_turn_ends_once",), spoil=twice(ev.TurnEnded)),
    "it never ends": Fault(
        rules=("the_turn_ends_once", "the_server_is_charged_only_for_its_own_answer"),
        spoil=without(ev.TurnEnded),
    ),
    "finalize is called twice": Fault(
        rules=("finalize_is_called_once_unless_the_caller_is_told",), spoil=twice(ev.Finalized)
    ),
    "finalize is not called": Fault(
        rules=("finalize_is_called_once_unless_the_caller_is_told",), spoil=without(ev.Finalized)
    ),
    "finalize is called where it is raised": Fault(
        rules=("finalize_is_called_once_unless_the_caller_is_told",),
        spoil=changed(ev.TurnEnded, raised=True),
    ),
    "cleanup is not called": Fault(
        rules=("cleanup_is_called_once_and_last",), spoil=without(ev.CleanedUp)
    ),
    "something comes after cleanup": Fault(
        rules=("cleanup_is_called_once_and_last",),
        spoil=after(ev.CleanedUp, ev.EffectFailed(effect="x", cause="y")),
    ),
    "it completes with nothing": Fault(
        rules=(
            "a_completed_turn_has_a_response",
            "the_server_is_charged_only_for_its_own_answer",
        ),
        spoil=changed(ev.TurnEnded, responses=0),
    ),
    "the last key is not booked": Fault(
        rules=("each_outcome_is_booked_once_on_the_key_that_was_used",),
        spoil=without(ev.KeyBooked, -1),
    ),
    "an outcome is booked twice": Fault(
        rules=("each_outcome_is_booked_once_on_the_key_that_was_used",),
        spoil=twice(ev.KeyBooked),
    ),
    "an outcome is booked on another key": Fault(
        rules=("each_outcome_is_booked_once_on_the_key_that_was_used",),
        spoil=changed(ev.KeyBooked, key_id=99),
    ),
    "a superseded message remains": Fault(
        rules=("nothing_superseded_remains",), spoil=without(ev.MessageTakenBack)
    ),
    "a message comes after its invocation": Fault(
        rules=("nothing_of_an_ended_invocation_appears_later",),
        spoil=after(
            ev.InvocationEnded,
            ev.MessagePosted(invocation_no=2, message_id="late", origin="stream", chars=1),
            -1,
        ),
    ),
    "the end names nothing": Fault(
        rules=("what_is_said_to_stand_stands",), spoil=changed(ev.TurnEnded, kept=())
    ),
    "the answer is taken back": Fault(
        rules=("what_is_said_to_stand_stands",),
        spoil=after(ev.InvocationEnded, ev.MessageTakenBack(message_id="m2"), -1),
    ),
    "the unit is never settled": Fault(
        rules=("a_reserved_unit_is_settled_once",), spoil=without(ev.QuotaSettled)
    ),
    "the unit is settled twice": Fault(
        rules=("a_reserved_unit_is_settled_once",), spoil=twice(ev.QuotaSettled)
    ),
    "the server is charged for a personal answer": Fault(
        rules=("the_server_is_charged_only_for_its_own_answer",), spoil=paid_by_the_user
    ),
    "a failed turn is charged": Fault(
        rules=("the_server_is_charged_only_for_its_own_answer",),
        spoil=changed(ev.QuotaSettled, committed=True),
        journal=failed,
    ),
    "the server route is asked twice": Fault(
        rules=("the_server_route_is_asked_once_and_last",), spoil=twice(ev.ServerRouteAsked)
    ),
    "the server route is asked though it was withheld": Fault(
        rules=("the_server_route_is_asked_once_and_last",),
        spoil=changed(ev.TurnStarted, server_route=ServerRoute.OPTED_OUT.value),
    ),
    "the server route is asked before the planned attempts": Fault(
        rules=("the_server_route_is_asked_once_and_last",),
        spoil=asked_at_once,
    ),
    "it runs after a signal": Fault(
        rules=("nothing_runs_after_a_signal",),
        spoil=after(ev.InvocationEnded, ev.SignalHeard(signal="stop_requested"), -2),
    ),
    "it runs after an answer": Fault(
        rules=("nothing_runs_after_an_end_that_stands",),
        spoil=changed(ev.InvocationEnded, -2, outcome="Answered"),
    ),
    "a failure is not said": Fault(
        rules=("a_failure_is_said_once_and_only_a_failure",),
        spoil=without(ev.Said),
        journal=failed,
    ),
    "a failure is said twice": Fault(
        rules=("a_failure_is_said_once_and_only_a_failure",), spoil=twice(ev.Said), journal=failed
    ),
    "a failure is said beside the answer": Fault(
        rules=("a_failure_is_said_once_and_only_a_failure",),
        spoil=after(ev.Said, ev.Said(what="timeout", to="person")),
    ),
    "people hear of a hidden turn": Fault(
        rules=("people_hear_only_what_is_for_them",),
        spoil=changed(ev.TurnStarted, audience="nobody"),
    ),
    "the notice is given twice": Fault(
        rules=("the_fallback_notice_is_for_completed_fallbacks",), spoil=twice(ev.Said)
    ),
    "the notice is given for a turn that was stopped": Fault(
        rules=("the_fallback_notice_is_for_completed_fallbacks",),
        spoil=changed(ev.TurnEnded, status="stopped_by_user"),
    ),
}


@pytest.mark.parametrize("journal", [lent, failed])
def test_a_real_journal_breaks_no_rule(journal: Callable[[], Journal]) -> None:
    assert breaches(journal()) == ()


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_its_rule(name: str) -> None:
    fault = FAULTS[name]

    found = breaches(spoilt(fault.journal(), fault.spoil))

    assert tuple(dict.fromkeys(breach.rule for breach in found)) == fault.rules


STRAY = ev.MessagePosted(invocation_no=0, message_id="stray", origin="stream", chars=1)


@pytest.mark.parametrize(
    "fate",
    [
        ev.MessageTakenBack(message_id="stray", late=True),
        ev.MessageStuck(message_id="stray", cause="no permission"),
    ],
)
def test_a_message_that_outlived_its_turn_breaks_no_rule_where_its_fate_is_known(
    fate: ev.Event,
) -> None:
    assert breaches(spoilt(lent(), lambda events: [*events, STRAY, fate])) == ()


def test_what_the_sink_meets_when_it_takes_one_back_may_be_told() -> None:
    told = ev.EffectFailed(effect="sink", cause="refused; done: asked again")
    gone = ev.MessageTakenBack(message_id="stray", late=True)

    assert breaches(spoilt(lent(), lambda events: [*events, STRAY, told, gone])) == ()


def test_one_that_remains_is_found() -> None:
    found = breaches(spoilt(lent(), lambda events: [*events, STRAY]))

    assert {breach.rule for breach in found} == {
        "nothing_superseded_remains",
        "nothing_of_an_ended_invocation_appears_later",
    }


def test_a_missing_entry_is_found() -> None:
    first, _, *others = lent()

    found = breaches((first, *others))

    assert [breach.rule for breach in found] == ["the_journal_has_no_gaps"]


@pytest.mark.parametrize("kind", [ev.TurnStarted, ev.ServerRouteAsked, ev.InvocationEnded])
def test_a_journal_with_a_hole_is_judged_like_any(kind: type[ev.Event]) -> None:
    journal = tuple(entry for entry in lent() if not isinstance(entry.event, kind))

    assert "the_journal_has_no_gaps" in {breach.rule for breach in breaches(journal)}


@pytest.mark.parametrize("bounds", [Bounds(max_keys=1), Bounds(max_invocations=1)])
def test_more_keys_or_invocations_than_are_allowed_are_found(bounds: Bounds) -> None:
    (breach,) = breaches(lent(), bounds)

    assert breach.rule == "no_attempt_exceeds_its_keys_and_invocations"


def test_no_rule_is_without_a_fault() -> None:
    rules = {rule.__name__.removeprefix("_") for rule in contract._RULES}
    planted = {rule for fault in FAULTS.values() for rule in fault.rules}

    assert rules - planted == {
        "the_journal_has_no_gaps",
        "no_attempt_exceeds_its_keys_and_invocations",
    }


def test_what_a_sweep_adds_is_not_the_turns_own() -> None:
    journal = failed()
    swept = ev.TurnSwept(by="another", silent_s=61.0, last_seq=3)

    entry = replace(journal[-1], seq=ev.SWEPT_SEQ + 1, event=swept)

    assert breaches((*journal, entry)) == ()
