"""What must be true of any turn: checks a journal against the invariants.

Public: a host may check its own turns. It reads nothing but the journal, so that it finds what the
state machine and its shell got wrong together.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from turnkeeper.domain import events as ev
from turnkeeper.domain.finish import ERROR_LIKE
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import Origin, TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Attempt, ServerRoute
from turnkeeper.domain.steps import NOTHING_CAME

T = TypeVar("T")


@frozen
class Breach:
    """A broken invariant.

    Attributes:
        rule: Which.
        what: What was seen, with the event's number where one is to blame.
    """

    rule: str
    what: str


@frozen
class Bounds:
    """The bounds that the turn ran under."""

    max_keys: int = 3
    max_invocations: int = 6


def breaches(entries: tuple[ev.Entry, ...], bounds: Bounds = Bounds()) -> tuple[Breach, ...]:
    """All invariants that the journal of a turn which has ended breaks; none if it is sound."""
    seen = _Seen(entries, bounds)
    return tuple(
        Breach(rule=rule.__name__.removeprefix("_"), what=what)
        for rule in _RULES
        for what in rule(seen)
    )


class _Seen:
    """A journal, sorted by kind of event."""

    def __init__(self, entries: tuple[ev.Entry, ...], bounds: Bounds) -> None:
        # What a sweep added is not the turn's own.
        self.entries = tuple(one for one in entries if not isinstance(one.event, ev.TurnSwept))
        self.bounds = bounds
        self.events = [entry.event for entry in self.entries]

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def end(self) -> ev.TurnEnded | None:
        ends = self.of(ev.TurnEnded)
        return ends[-1] if ends else None

    @property
    def start(self) -> ev.TurnStarted | None:
        starts = self.of(ev.TurnStarted)
        return starts[0] if starts else None

    @property
    def attempts(self) -> dict[int, Attempt]:
        planned = self.start.attempts if self.start else ()
        opened = [attempt for asked in self.of(ev.ServerRouteAsked) for attempt in asked.attempts]
        return {attempt.number: attempt for attempt in (*planned, *opened)}

    @property
    def last_ended(self) -> ev.InvocationEnded | None:
        ended = self.of(ev.InvocationEnded)
        return ended[-1] if ended else None


def _the_journal_has_no_gaps(seen: _Seen) -> Iterator[str]:
    numbers = [entry.seq for entry in seen.entries]
    if numbers != list(range(len(numbers))):
        yield f"entries are numbered {numbers}"


def _the_turn_ends_once(seen: _Seen) -> Iterator[str]:
    if len(seen.of(ev.TurnEnded)) != 1:
        yield f"it ended {len(seen.of(ev.TurnEnded))} times"


def _finalize_is_called_once_unless_the_caller_is_told(seen: _Seen) -> Iterator[str]:
    raised = seen.end is not None and seen.end.raised
    expected = 0 if raised else 1
    if len(seen.of(ev.Finalized)) != expected:
        yield f"finalize was called {len(seen.of(ev.Finalized))} times, not {expected}"


def _cleanup_is_called_once_and_last(seen: _Seen) -> Iterator[str]:
    """A message that outlived the turn may still arrive, and is taken back then."""
    if len(seen.of(ev.CleanedUp)) != 1:
        yield f"cleanup was called {len(seen.of(ev.CleanedUp))} times"
        return
    stray = ev.MessagePosted | ev.MessageTakenBack | ev.MessageStuck
    at = next(n for n, event in enumerate(seen.events) if isinstance(event, ev.CleanedUp))
    for event in seen.events[at + 1 :]:
        if not isinstance(event, stray) and not _is_of_the_sink(event):
            yield f"{type(event).__name__} came after cleanup"


def _is_of_the_sink(event: ev.Event) -> bool:
    """What it meets when it takes such a message back."""
    return isinstance(event, ev.EffectFailed) and event.effect == "sink"


def _a_completed_turn_has_a_response(seen: _Seen) -> Iterator[str]:
    end = seen.end
    if end is None or end.status != TurnStatus.COMPLETED.value:
        return
    if end.responses == 0 and not end.delivered_by_tool:
        yield "it completed with neither a response nor a tool's delivery"


def _each_outcome_is_booked_once_on_the_key_that_was_used(seen: _Seen) -> Iterator[str]:
    used = Counter(
        (event.invocation_no, event.key_id)
        for event in seen.of(ev.InvocationStarted)
        if event.key_id is not None
    )
    booked = Counter((event.invocation_no, event.key_id) for event in seen.of(ev.KeyBooked))
    if used != booked:
        yield f"used (invocation, key) {sorted(used)}, booked {sorted(booked.elements())}"


def _nothing_superseded_remains(seen: _Seen) -> Iterator[str]:
    """Messages of an invocation that another one followed are gone, or known to be stuck."""
    last = seen.last_ended
    gone = {event.message_id for event in seen.of(ev.MessageTakenBack)}
    stuck = {event.message_id for event in seen.of(ev.MessageStuck)}
    for event in seen.of(ev.MessagePosted):
        is_last = last is not None and (
            event.invocation_no == last.invocation_no or event.message_id in last.kept
        )
        if is_last or event.origin == Origin.TOOL.value:
            continue
        if event.message_id not in gone | stuck:
            yield f"message {event.message_id} of invocation {event.invocation_no} remains"


def _nothing_of_an_ended_invocation_appears_later(seen: _Seen) -> Iterator[str]:
    ended: set[int] = set()
    gone = {event.message_id for event in seen.of(ev.MessageTakenBack)}
    stuck = {event.message_id for event in seen.of(ev.MessageStuck)}
    for event in seen.events:
        if isinstance(event, ev.InvocationEnded):
            ended.add(event.invocation_no)
        if (
            isinstance(event, ev.MessagePosted)
            and event.invocation_no in ended
            and event.message_id not in gone | stuck
        ):
            yield f"message {event.message_id} came after invocation {event.invocation_no} ended"


def _what_is_said_to_stand_stands(seen: _Seen) -> Iterator[str]:
    end, last = seen.end, seen.last_ended
    if end is None:
        return
    kept = last.kept if last is not None else ()
    if end.kept != kept:
        yield f"the end names {end.kept}, the last invocation kept {kept}"
    gone = {event.message_id for event in seen.of(ev.MessageTakenBack)}
    for message_id in set(end.kept) & gone:
        yield f"message {message_id} is said to stand and was taken back"


def _a_reserved_unit_is_settled_once(seen: _Seen) -> Iterator[str]:
    reserved = Counter(event.trigger_key for event in seen.of(ev.QuotaReserved))
    settled = Counter(event.trigger_key for event in seen.of(ev.QuotaSettled))
    if reserved != settled:
        yield f"reserved {dict(reserved)}, settled {dict(settled)}"


def _the_server_is_charged_only_for_its_own_answer(seen: _Seen) -> Iterator[str]:
    committed = any(event.committed for event in seen.of(ev.QuotaSettled))
    if not committed:
        return
    last, end = seen.last_ended, seen.end
    if last is None or end is None or end.responses == 0:
        yield "a unit was used without a persona response"
        return
    attempt = seen.attempts.get(last.attempt_no)
    if attempt is None:
        yield f"a unit was used for attempt {last.attempt_no}, which was never planned"
    elif attempt.route is not Route.SERVER:
        yield "a unit was used for an answer on personal credentials"


def _the_server_route_is_asked_once_and_last(seen: _Seen) -> Iterator[str]:
    asked = [i for i, e in enumerate(seen.events) if isinstance(e, ev.ServerRouteAsked)]
    if not asked or seen.start is None:
        return
    if len(asked) > 1:
        yield f"it was asked {len(asked)} times"
    if seen.start.server_route != ServerRoute.MAY_OPEN.value:
        yield f"it was asked although {seen.start.server_route}"
    tried = {
        event.attempt_no
        for event in seen.events[: asked[0]]
        if isinstance(event, ev.InvocationEnded | ev.AttemptUnpreparable | ev.NoKeyLeft)
    }
    for attempt in seen.start.attempts:
        if attempt.number not in tried:
            yield f"attempt {attempt.number} had not been tried"


def _no_attempt_exceeds_its_keys_and_invocations(seen: _Seen) -> Iterator[str]:
    keys: dict[int, set[int]] = {}
    runs: Counter[int] = Counter()
    for event in seen.events:
        if isinstance(event, ev.Waited) and event.why == NOTHING_CAME:
            keys, runs = {}, Counter()
        if not isinstance(event, ev.InvocationStarted):
            continue
        runs[event.attempt_no] += 1
        if event.key_id is not None:
            keys.setdefault(event.attempt_no, set()).add(event.key_id)
        if runs[event.attempt_no] > seen.bounds.max_invocations:
            yield f"attempt {event.attempt_no} ran {runs[event.attempt_no]} times"
        if len(keys.get(event.attempt_no, ())) > seen.bounds.max_keys:
            yield f"attempt {event.attempt_no} used keys {sorted(keys[event.attempt_no])}"


def _nothing_runs_after_a_signal(seen: _Seen) -> Iterator[str]:
    has_heard = False
    for event in seen.events:
        if isinstance(event, ev.SignalHeard):
            has_heard = True
        if has_heard and isinstance(event, ev.InvocationStarted):
            yield f"invocation {event.invocation_no} started after a signal"


def _nothing_runs_after_an_end_that_stands(seen: _Seen) -> Iterator[str]:
    final = {"Answered", "Stopped", "Interrupted", "Unreachable"}
    over: str | None = None
    for event in seen.events:
        if over is not None and isinstance(event, ev.InvocationStarted):
            yield f"invocation {event.invocation_no} started after {over}"
        if isinstance(event, ev.InvocationEnded) and event.outcome in final:
            over = event.outcome


def _a_failure_is_said_once_and_only_a_failure(seen: _Seen) -> Iterator[str]:
    said = [event for event in seen.of(ev.Said) if event.what in {"error", "timeout", "empty"}]
    end = seen.end
    if end is None:
        return
    is_failure = end.status in {status.value for status in ERROR_LIKE}
    if is_failure and len(said) != 1:
        yield f"{end.status} was said {len(said)} times"
    if not is_failure and said:
        yield f"{end.status}, and yet {said[0].what} was said"


def _people_hear_only_what_is_for_them(seen: _Seen) -> Iterator[str]:
    start = seen.start
    if start is None or start.audience == "person":
        return
    for event in seen.of(ev.Said):
        if event.to == "person":
            yield f"{event.what} was said to people in a turn for {start.audience}"


def _the_fallback_notice_is_for_completed_fallbacks(seen: _Seen) -> Iterator[str]:
    notices = [event for event in seen.of(ev.Said) if event.what == "fallback_notice"]
    last, end = seen.last_ended, seen.end
    if not notices or end is None:
        return
    if len(notices) > 1:
        yield f"it was given {len(notices)} times"
    if end.status != TurnStatus.COMPLETED.value or last is None or last.attempt_no == 0:
        yield f"it was given for {end.status} of attempt {last.attempt_no if last else None}"


_RULES: tuple[Callable[[_Seen], Iterator[str]], ...] = (
    _the_journal_has_no_gaps,
    _the_turn_ends_once,
    _finalize_is_called_once_unless_the_caller_is_told,
    _cleanup_is_called_once_and_last,
    _a_completed_turn_has_a_response,
    _each_outcome_is_booked_once_on_the_key_that_was_used,
    _nothing_superseded_remains,
    _nothing_of_an_ended_invocation_appears_later,
    _what_is_said_to_stand_stands,
    _a_reserved_unit_is_settled_once,
    _the_server_is_charged_only_for_its_own_answer,
    _the_server_route_is_asked_once_and_last,
    _no_attempt_exceeds_its_keys_and_invocations,
    _nothing_runs_after_a_signal,
    _nothing_runs_after_an_end_that_stands,
    _a_failure_is_said_once_and_only_a_failure,
    _people_hear_only_what_is_for_them,
    _the_fallback_notice_is_for_completed_fallbacks,
)
