"""Runs a turn's decisions again from its journal, and says where these rules decide otherwise.

Each decision is judged by itself: after one that differs, the replay goes on from what was really
done, so that what follows is compared too.
"""

from collections.abc import Iterable
from typing import get_args

from turnkeeper.domain import events as ev
from turnkeeper.domain import recorded
from turnkeeper.domain.adjust import adjust_of
from turnkeeper.domain.admission import RefusalKind, Refused, Reservation
from turnkeeper.domain.answers import Heard, Leased, Prepared, Signal, Unpreparable, Waited
from turnkeeper.domain.choice import (
    Choice,
    Chosen,
    Spoken,
    of_booked,
    of_booking,
    of_end,
    of_event,
    of_rest,
    of_step,
)
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.phase import Choosing, Leasing, Over, Ready, Waiting
from turnkeeper.domain.plan import Attempt, Plan, ServerRoute
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.domain.rotation import Lease
from turnkeeper.domain.steps import KEY_RESTS, TurnState

FAILURES_ARE_SAID = frozenset({"error", "timeout", "empty"})


@frozen
class Difference:
    """A decision that these rules would take otherwise.

    Attributes:
        seq: The journal's entry that has it.
        recorded: What was decided.
        would: What these rules decide.
    """

    seq: int
    recorded: Choice
    would: Choice


@frozen
class Replay:
    """What came of replaying one turn.

    Attributes:
        turn_id: Which.
        decisions: How many were compared.
        differences: Those that differ, in order.
        remarks: What limits the comparison, in words.
        attempts: The turn's attempts, by their numbers.
    """

    turn_id: str
    decisions: int = 0
    differences: tuple[Difference, ...] = ()
    remarks: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()


def replayed(entries: Iterable[ev.Entry]) -> Replay:
    """The decisions of one turn's journal, taken again.

    Raises:
        ValueError: The journal contradicts itself: a word of it is none of ours.
    """
    run = _Run()
    for entry in entries:
        run.meet(entry)
    return run.result()


class _Run:
    """A replay under way; goes through the entries in order."""

    def __init__(self) -> None:
        self._turn_id = ""
        self._state: TurnState | None = None
        self._decisions = 0
        self._differences: list[Difference] = []
        self._remarks: list[str] = []
        self._posted: dict[str, ev.MessagePosted] = {}
        self._prepared: dict[int, Prepared] = {}
        self._lent: Lease | None = None
        self._rest_is_open = False
        self._spoken: Spoken | None = Spoken()
        self._settled: ev.QuotaSettled | None = None
        self._is_over = False

    def result(self) -> Replay:
        if self._state is None:
            self._remarks.append("nothing was decided in it: the turn never began")
        elif not self._is_over:
            self._remarks.append("the journal ends before the turn does; no more can be compared")
        return Replay(
            turn_id=self._turn_id,
            decisions=self._decisions,
            differences=tuple(self._differences),
            remarks=tuple(self._remarks),
            attempts=self._state.plan.attempts if self._state else (),
        )

    def meet(self, entry: ev.Entry) -> None:
        event, self._turn_id = entry.event, entry.turn_id
        if isinstance(event, ev.TurnStarted):
            self._begin(event)
        elif self._state is None or self._is_over:
            return
        elif isinstance(event, get_args(Chosen)):
            self._state = self._decided(entry, event, self._state)
        elif isinstance(event, ev.TurnEnded):
            self._ended(entry, event, self._state)
        else:
            self._state = self._told(entry, event, self._state)

    def _begin(self, event: ev.TurnStarted) -> None:
        if event.policy is None:
            self._remarks.append(
                "the journal does not say how hard the turn was to try; the defaults are taken"
            )
        plan = Plan(
            route=event.route,
            attempts=event.attempts,
            server_route=ServerRoute(event.server_route),
        )
        self._state = TurnState.begin(
            plan,
            policy=event.policy or TurnPolicy(),
            audience=Audience(event.audience),
            resting=frozenset(event.resting),
        )

    # ── decisions ───────────────────────────────────────────────────────────────────────────

    def _decided(self, entry: ev.Entry, event: Chosen, state: TurnState) -> TurnState:
        self._expect_no_rest(entry, state)
        taken, would = of_event(event), of_step(state.next_step())
        self._compare(entry, taken, would)
        if not taken.agrees_with(would):
            state = self._as_recorded(entry, event, state)
        match event:
            case ev.AttemptPrepared():
                ready = self._prepared[event.attempt_no] = recorded.prepared(event)
                return state.told(ready)
            case ev.AttemptUnpreparable():
                return state.told(Unpreparable(attempt_no=event.attempt_no, cause=event.cause))
            case ev.KeyLeased():
                attempt = state.attempt(event.attempt_no)
                lent = self._lent = recorded.lease(attempt, event.key_id, entry.at_s, event)
                return state.told(Leased(attempt_no=event.attempt_no, lease=lent))
            case ev.NoKeyLeft():
                return state.told(recorded.no_key(event))
            case ev.Waited():
                return state.told(Waited())
            case ev.InvocationStarted():
                return state
            case ev.ServerRouteAsked():
                return state.told(recorded.route_answer(event))

    def _as_recorded(self, entry: ev.Entry, event: Chosen, state: TurnState) -> TurnState:
        """The state in which the step was taken that is in the journal."""
        match event:
            case ev.KeyLeased() | ev.NoKeyLeft() if not isinstance(state.at, Leasing):
                return replace(state, at=Leasing(prepared=self._ready(event.attempt_no)))
            case ev.Waited(why=why) if why == KEY_RESTS and not isinstance(state.at, Waiting):
                then = Leasing(prepared=self._ready(event.attempt_no), has_waited=True)
                return replace(state, at=Waiting(then=then, until_s=entry.at_s))
            case ev.Waited(why=why) if why != KEY_RESTS:
                return replace(state, at=Over())
            case ev.InvocationStarted():
                kept = state.at.kept if isinstance(state.at, Ready) else ()
                ready = Ready(
                    prepared=self._ready(event.attempt_no),
                    lease=self._key(entry, event, state),
                    adjust=adjust_of(event.adjust, event.tokens),
                    kept=kept,
                )
                return replace(state, at=ready)
            case ev.ServerRouteAsked():
                return replace(state, at=Choosing())
            case _:
                return state

    def _ready(self, attempt_no: int) -> Prepared:
        if attempt_no not in self._prepared:
            raise ValueError(f"attempt {attempt_no} was never prepared, and yet it went on")
        return self._prepared[attempt_no]

    def _key(self, entry: ev.Entry, event: ev.InvocationStarted, state: TurnState) -> Lease | None:
        if event.key_id is None:
            return None
        if self._lent is not None and self._lent.key_id == event.key_id:
            return self._lent
        return recorded.lease(state.attempt(event.attempt_no), event.key_id, entry.at_s)

    def _ended(self, entry: ev.Entry, event: ev.TurnEnded, state: TurnState) -> None:
        self._is_over = True
        self._expect_no_rest(entry, state)
        if event.raised and self._spoken == Spoken():
            self._remarks.append("the turn was given up from outside; its end was no decision")
            return
        end = of_end(event, self._settled, self._spoken)
        self._compare(entry, end, of_step(state.next_step()))

    def _compare(self, entry: ev.Entry, taken: Choice, would: Choice) -> None:
        self._decisions += 1
        if not taken.agrees_with(would):
            self._differences.append(Difference(seq=entry.seq, recorded=taken, would=would))

    def _expect_no_rest(self, entry: ev.Entry, state: TurnState) -> None:
        """A model that was to rest, and about which nothing was journalled, did not rest."""
        if not self._rest_is_open:
            return
        self._rest_is_open = False
        number = state.outcomes[-1].ran.attempt_no
        if state.model_rest_s > 0:
            self._compare(entry, of_rest(number, 0.0), of_rest(number, state.model_rest_s))

    # ── what happened ───────────────────────────────────────────────────────────────────────

    def _told(self, entry: ev.Entry, event: ev.Event, state: TurnState) -> TurnState:
        match event:
            case ev.TurnRefused(where="planned route"):
                kind = RefusalKind(event.kind)
                course = replace(state.course, refusal=Refused(kind=kind))
                return replace(state, course=course, at=Over())
            case ev.QuotaReserved(trigger_key=key):
                unit = Reservation(server_id="", trigger_key=key, holder=entry.turn_id)
                return replace(state, course=replace(state.course, reservation=unit))
            case ev.SignalHeard(signal=signal):
                return state.told(Heard(Signal(signal)))
            case ev.MessagePosted():
                self._posted[event.message_id] = event
            case ev.InvocationEnded():
                return self._after(event, state)
            case ev.KeyBooked():
                self._compare(entry, of_booked(event), of_booking(event.attempt_no, state.booking))
            case ev.ModelRested():
                self._rest_is_open = False
                would = of_rest(event.attempt_no, state.model_rest_s)
                self._compare(entry, of_rest(event.attempt_no, event.for_s), would)
            case ev.Said():
                self._heard_said(event)
            case ev.QuotaSettled():
                self._settled = event
            case ev.EffectFailed():
                self._went_wrong(event)
            case _:
                pass
        return state

    def _after(self, event: ev.InvocationEnded, state: TurnState) -> TurnState:
        if not isinstance(state.at, Ready):
            raise ValueError(f"invocation {event.invocation_no} ended and had never begun")
        ended = state.after(recorded.outcome(event, state.at.lease, self._posted))
        self._rest_is_open = True
        return ended

    def _heard_said(self, event: ev.Said) -> None:
        """What a sink does not say is said to the journal, though it was meant for people."""
        if self._spoken is None:
            return
        is_told = event.what in FAILURES_ARE_SAID and event.to != "journal"
        self._spoken = Spoken(
            what=self._spoken.what | {event.what}, to=event.to if is_told else self._spoken.to
        )

    def _went_wrong(self, event: ev.EffectFailed) -> None:
        match event.effect:
            case "turn":
                self._is_over = True
                self._remarks.append(
                    f"the turn was thrown out of its course: {event.cause}; its end was no decision"
                )
            case "model rest":
                self._rest_is_open = False
            case "conclude":
                self._spoken = None
            case what if what in FAILURES_ARE_SAID and self._spoken is not None:
                self._spoken = replace(self._spoken, to="person")
            case _:
                pass
