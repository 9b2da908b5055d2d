"""Why a turn went as it went: one line for each event of its journal."""

from collections.abc import Iterable
from typing import assert_never

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.interfaces.explain_effects import went_wrong
from turnkeeper.interfaces.explain_failure import (
    WITHOUT_FAILURE,
    Because,
    because,
    what_failed,
)
from turnkeeper.interfaces.explain_words import back, back_in, may_follow, messages, so, words

DECISIONS = (
    events.TurnStarted,
    events.TurnRefused,
    events.AttemptUnpreparable,
    events.KeyLeased,
    events.NoKeyLeft,
    events.Waited,
    events.InvocationEnded,
    events.KeyBooked,
    events.ModelRested,
    events.MessageTakenBack,
    events.MessageStuck,
    events.ServerRouteAsked,
    events.SignalHeard,
    events.Said,
    events.QuotaSettled,
    events.TurnEnded,
    events.TurnSwept,
    events.EffectFailed,
)
"""The events in which something was decided; the others say that it was done."""


@frozen
class Why:
    """One event, explained.

    Attributes:
        entry: The event in its journal.
        what: What happened.
        because: What stands behind it, where something failed.
    """

    entry: Entry
    what: str
    because: Because | None = None

    @property
    def text(self) -> str:
        """What happened, and why."""
        return self.what if self.because is None else f"{self.what}; {self.because}"

    def __str__(self) -> str:
        return f"{self.entry.at_s:8.3f} s  {self.text}"


def explained(entries: Iterable[Entry], *, decisions_only: bool = False) -> tuple[Why, ...]:
    """Each event of one turn, in order, in words.

    Args:
        decisions_only: Leave out what only says that something was done.
    """
    told, all_of_it = _Telling(), tuple(entries)
    happened = tuple(entry.event for entry in all_of_it)
    lines = tuple(
        Why(
            entry=entry,
            what=told.why(entry.event),
            because=told.because(happened, number),
        )
        for number, entry in enumerate(all_of_it)
    )
    return tuple(
        line for line in lines if not decisions_only or isinstance(line.entry.event, DECISIONS)
    )


class _Telling:
    """Tells the events of one turn in their order, and remembers whom their numbers mean."""

    def __init__(self) -> None:
        self._attempts: dict[int, Attempt] = {}
        self._policy: TurnPolicy | None = None

    def because(self, happened: tuple[Event, ...], number: int) -> Because | None:
        """What stands behind an invocation that gave no answer; None for all else."""
        event = happened[number]
        if not isinstance(event, events.InvocationEnded):
            return None
        if event.failure is None and event.outcome not in WITHOUT_FAILURE:
            return None
        after = happened[number + 1 :]
        self._meet(attempt for asked in after for attempt in _opened_by(asked))
        return because(event, after, self._name, self._policy)

    def why(self, event: Event) -> str:
        match event:
            case events.TurnStarted():
                return self._started(event)
            case events.TurnRefused():
                said = ", which was said before" if event.already_said else ""
                next_in = back_in(event.next_in_s)
                return (
                    f"refused on the {event.where}: {words(event.kind)}{said}{so(event.cause)}"
                    f"{next_in}"
                )
            case events.ServerRouteAsked():
                return self._server_route(event)
            case (
                events.AttemptPrepared()
                | events.AttemptUnpreparable()
                | events.KeyLeased()
                | events.NoKeyLeft()
                | events.Waited()
                | events.InvocationStarted()
                | events.ModelRested()
            ):
                return self._on_the_way(event)
            case events.InvocationEnded():
                return self._ended(event)
            case events.KeyBooked():
                return _booked(event)
            case (
                events.FirstProgress()
                | events.ToolRan()
                | events.MessagePosted()
                | events.MessageTakenBack()
                | events.MessageStuck()
            ):
                return _in_the_channel(event)
            case _:
                return _around(event)

    def _started(self, event: events.TurnStarted) -> str:
        self._meet(event.attempts)
        self._policy = event.policy
        order = ", then ".join(self._name(attempt.number) for attempt in event.attempts)
        resting = ", ".join(self._name(number) for number in event.resting)
        last = f"; resting, so last: {resting}" if resting else ""
        route = may_follow(event.server_route)
        whom = _whom(event)
        return f"planned on the {event.route.value} route{whom}: {order or 'nothing'}{last}{route}"

    def _server_route(self, event: events.ServerRouteAsked) -> str:
        self._meet(event.attempts)
        order = ", then ".join(self._name(attempt.number) for attempt in event.attempts)
        answer = f"{event.answer}{so(order or words(event.cause))}"
        resting = ", ".join(self._name(number) for number in event.resting)
        last = f"; resting, so last: {resting}" if resting else ""
        return f"asked for the server's models: {answer}{last}{back_in(event.next_in_s)}"

    def _on_the_way(
        self,
        event: events.AttemptPrepared
        | events.AttemptUnpreparable
        | events.KeyLeased
        | events.NoKeyLeft
        | events.Waited
        | events.InvocationStarted
        | events.ModelRested,
    ) -> str:
        name = self._name(event.attempt_no)
        match event:
            case events.AttemptPrepared():
                dropped = f", {event.dropped} exchanges left out to fit" if event.dropped else ""
                output = (
                    f", at most {event.max_output_tokens} out" if event.max_output_tokens else ""
                )
                return f"prepared {name}: about {event.input_tokens} tokens in{output}{dropped}"
            case events.AttemptUnpreparable():
                return f"passed {name} over: {event.cause}"
            case events.KeyLeased():
                what = "the owner's own key" if event.is_main else "the least used key that is free"
                probe = ", as the one probe after its rest" if event.is_probe else ""
                return f"lent key {event.key_id} for {name}: {what}{probe}"
            case events.NoKeyLeft():
                return f"no key for {name}: {event.cause or 'all rest'}; {back(event.next_in_s)}"
            case events.Waited():
                return f"waited {event.for_s:.1f} s with {name}: {event.why}"
            case events.InvocationStarted():
                key = f" with key {event.key_id}" if event.key_id is not None else " without a key"
                tokens = f" to {event.tokens} tokens" if event.tokens is not None else ""
                how = "" if event.adjust == "AsIs" else f", changed: {words(event.adjust)}{tokens}"
                return f"asked {name}{key}{how}"
            case events.ModelRested():
                return f"{name} rests for {event.for_s:.0f} s: {words(event.cause)}"
            case unknown:
                assert_never(unknown)

    def _ended(self, event: events.InvocationEnded) -> str:
        name = self._name(event.attempt_no)
        if event.failure is not None or event.outcome in WITHOUT_FAILURE:
            return what_failed(event, self._name)
        kept = f", {messages(event.kept)} in the channel" if event.kept else ""
        detail = f" ({words(event.detail)})" if event.detail else ""
        return f"{name}: {words(event.outcome)}{detail}{kept}"

    def _meet(self, attempts: Iterable[Attempt]) -> None:
        self._attempts |= {attempt.number: attempt for attempt in attempts}

    def _name(self, number: int) -> str:
        attempt = self._attempts.get(number)
        return f"attempt {number}" if attempt is None else attempt.model.name


def _opened_by(event: Event) -> tuple[Attempt, ...]:
    return event.attempts if isinstance(event, events.ServerRouteAsked) else ()


def _whom(event: events.TurnStarted) -> str:
    """Who asked, and where, where the journal says so."""
    who = f" for user {event.user_id}" if event.user_id else ""
    where = f" of server {event.server_id}" if event.server_id else ""
    return f"{who}{where}"


def _booked(event: events.KeyBooked) -> str:
    cause = f" ({words(event.error_class)})" if event.error_class else ""
    if event.rests == "nothing":
        rests = "it does not rest"
    elif event.rest_s > 0:
        rests = f"rests: {event.rests}, {event.rest_s:.0f} s"
    else:
        rests = f"rests: {event.rests}"
    return f"booked on key {event.key_id}: {event.booking}{cause}; {rests}"


def _in_the_channel(
    event: events.FirstProgress
    | events.ToolRan
    | events.MessagePosted
    | events.MessageTakenBack
    | events.MessageStuck,
) -> str:
    match event:
        case events.FirstProgress():
            return f"the first of it came after {event.after_s:.3f} s"
        case events.ToolRan():
            replayed = ", answered from an earlier invocation" if event.replayed else ""
            return f"tool {event.name}, call {event.nth + 1}: {event.state}{replayed}"
        case events.MessagePosted():
            return f"posted message {event.message_id} ({event.origin}, {event.chars} characters)"
        case events.MessageTakenBack():
            why = "it came too late" if event.late else "its attempt failed and another goes on"
            return f"took message {event.message_id} back: {why}"
        case events.MessageStuck():
            return f"message {event.message_id} stays in the channel: {event.cause}"
        case unknown:
            assert_never(unknown)


def _around(
    event: events.QuotaReserved
    | events.SignalHeard
    | events.Said
    | events.QuotaSettled
    | events.Finalized
    | events.CleanedUp
    | events.TurnEnded
    | events.TurnSwept
    | events.EffectFailed,
) -> str:
    match event:
        case events.QuotaReserved():
            return f"set a unit of the server's quota aside for {event.trigger_key}"
        case events.SignalHeard():
            return f"heard: {words(event.signal)}"
        case events.Said():
            return f"told the {event.to}: {words(event.what)}"
        case events.QuotaSettled():
            how = "used" if event.committed else "given back"
            return f"the unit of the server's quota was {how} for {event.trigger_key}"
        case events.Finalized():
            return f"told the sink that the turn is over: {words(event.status)}"
        case events.CleanedUp():
            return "released what the sink held"
        case events.TurnEnded():
            return _over(event)
        case events.TurnSwept():
            return _swept(event)
        case events.EffectFailed():
            return went_wrong(event)
        case unknown:
            assert_never(unknown)


def _over(event: events.TurnEnded) -> str:
    by = f" by {event.success_model}" if event.success_model else ""
    raised = ", raised to the caller" if event.raised else ""
    left = f"what stands in the channel: {messages(event.kept)}"
    return f"the turn is over: {words(event.status)}{by}{raised}; {left}"


def _swept(event: events.TurnSwept) -> str:
    lost = "" if event.last_seq is None else f" after entry {event.last_seq}"
    stuck = f", {messages(event.stuck)} stuck" if event.stuck else ""
    absent = f", {event.absent} never posted" if event.absent else ""
    return (
        f"the turn was swept up by {event.by}: no sign of life for {event.silent_s:.0f} s, so"
        f" that what happened{lost} is not known; took back {messages(event.taken_back)}"
        f"{stuck}{absent}"
    )
