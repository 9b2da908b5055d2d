"""Counts what the events say."""

from dataclasses import dataclass, field
from threading import Lock

from turnkeeper.application.sweep_report import SweepReport
from turnkeeper.domain import events
from turnkeeper.domain.events import Entry
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Attempt
from turnkeeper.infrastructure.memory.latest import Latest
from turnkeeper.infrastructure.telemetry.label_names import OTHER, LabelNames
from turnkeeper.infrastructure.telemetry.metrics import Metrics

EFFECTS = {
    "abandoned stream", "booking", "cleanup", "conclude", "finalize", "ledger", "model rest",
    "settle", "sink", "spool", "turn", "unreachable mark", "words",
}  # fmt: skip


@dataclass(slots=True)
class _Turn:
    """What is known of a turn that still runs."""

    route: str = OTHER
    attempts: dict[int, Attempt] = field(default_factory=dict)
    ran: list[events.InvocationStarted] = field(default_factory=list)
    has_failed: bool = False


class TurnCounts:
    """A listener that counts. Safe to use from several threads; it takes microseconds."""

    def __init__(self, metrics: Metrics, names: LabelNames | None = None) -> None:
        self._metrics = metrics
        self._names = names or LabelNames()
        self._lock = Lock()  # guards the one below and what is in it
        self._turns: Latest[str, _Turn] = Latest()

    def __call__(self, entry: Entry) -> None:
        """Count one entry."""
        with self._lock:
            turn = self._turns.get(entry.turn_id) or _Turn()
            if isinstance(entry.event, events.TurnStarted):
                self._turns[entry.turn_id] = turn
            self._remember(turn, entry.event)
            if isinstance(entry.event, events.CleanedUp | events.TurnSwept):
                self._turns.pop(entry.turn_id, None)
        self._count(turn, entry)

    def swept(self, report: SweepReport) -> None:
        """Count one sweep of this process."""
        self._metrics.sweeps.inc()

    def _remember(self, turn: _Turn, event: events.Event) -> None:
        match event:
            case events.TurnStarted(route=route, attempts=attempts):
                turn.route = route.value
                turn.attempts |= {one.number: one for one in attempts}
            case events.ServerRouteAsked(attempts=attempts):
                turn.attempts |= {one.number: one for one in attempts}
            case events.InvocationStarted():
                turn.ran.append(event)
            case events.InvocationEnded(failure=failure) if failure is not None:
                turn.has_failed = True

    def _count(self, turn: _Turn, entry: Entry) -> None:
        metrics = self._metrics
        match entry.event:
            case events.TurnEnded(status=status):
                metrics.turns.labels(status, turn.route).inc()
                metrics.turn_s.labels(status).observe(entry.at_s)
                if status == TurnStatus.COMPLETED.value and turn.has_failed and turn.ran:
                    metrics.rescued.labels(_rescued_by(turn)).inc()
            case events.TurnRefused(kind=kind):
                metrics.refusals.labels(kind).inc()
            case events.InvocationEnded():
                self._count_invocation(turn, entry.event)
            case events.FirstProgress(invocation_no=number, after_s=after_s):
                names = self._names.of(_attempt_of(turn, number))
                metrics.first_progress_s.labels(*names).observe(after_s)
            case events.ModelRested(attempt_no=number):
                metrics.model_rests.labels(*self._names.of(turn.attempts.get(number))).inc()
            case events.ServerRouteAsked(answer=answer):
                metrics.server_routes.labels(answer).inc()
            case _:
                self._count_side(turn, entry.event)

    def _count_side(self, turn: _Turn, event: events.Event) -> None:
        metrics = self._metrics
        match event:
            case events.KeyBooked(attempt_no=number, booking=booking, error_class=error_class):
                provider, _ = self._names.of(turn.attempts.get(number))
                metrics.bookings.labels(provider, booking, error_class).inc()
            case events.NoKeyLeft(attempt_no=number):
                metrics.no_key.labels(self._names.of(turn.attempts.get(number))[0]).inc()
            case events.MessagePosted(origin=origin):
                metrics.posted.labels(origin).inc()
            case events.MessageTakenBack(late=late):
                metrics.taken_back.labels(_yes(late)).inc()
            case events.MessageStuck():
                metrics.stuck.inc()
            case events.QuotaReserved():
                metrics.quota.labels("reserved").inc()
            case events.QuotaSettled(committed=committed):
                metrics.quota.labels("used" if committed else "given_back").inc()
            case events.ToolRan(state=state, replayed=replayed):
                metrics.tools.labels(state, _yes(replayed)).inc()
            case events.EffectFailed(effect=effect):
                metrics.effects_failed.labels(effect if effect in EFFECTS else OTHER).inc()
            case events.TurnSwept(taken_back=taken_back, stuck=stuck, absent=absent):
                metrics.swept.inc()
                metrics.swept_messages.labels("taken_back").inc(len(taken_back))
                metrics.swept_messages.labels("stuck").inc(len(stuck))
                metrics.swept_messages.labels("absent").inc(absent)

    def _count_invocation(self, turn: _Turn, ended: events.InvocationEnded) -> None:
        metrics = self._metrics
        names = self._names.of(turn.attempts.get(ended.attempt_no))
        metrics.invocations.labels(*names, ended.outcome).inc()
        if ended.failure is not None:
            metrics.failures.labels(*names, ended.failure.kind.value).inc()
        for direction, tokens in (("input", ended.input_tokens), ("output", ended.output_tokens)):
            if tokens:
                metrics.tokens.labels(*names, direction).inc(tokens)


def _attempt_of(turn: _Turn, invocation_no: int) -> Attempt | None:
    for one in reversed(turn.ran):
        if one.invocation_no == invocation_no:
            return turn.attempts.get(one.attempt_no)
    return None


def _rescued_by(turn: _Turn) -> str:
    """What helped: the server's models, another model, another key, or only another try."""
    first, last = turn.ran[0], turn.ran[-1]
    won = turn.attempts.get(last.attempt_no)
    if turn.route == Route.PERSONAL.value and won is not None and won.route is Route.SERVER:
        return "server_route"
    if first.attempt_no != last.attempt_no:
        return "model"
    return "retry" if first.key_id == last.key_id else "key"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
