"""Turns as OpenTelemetry spans, through the API alone: without an SDK nothing comes of them."""

from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from opentelemetry.context import Context, get_current
from opentelemetry.trace import Tracer, TracerProvider, get_tracer

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.events import CleanedUp, Entry
from turnkeeper.domain.version import VERSION
from turnkeeper.infrastructure.memory.latest import Latest
from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.telemetry.turn_trace import PastTurn, TurnTrace

NAME = "turnkeeper"


@dataclass(slots=True, kw_only=True)
class _Gathered:
    """What was heard of a turn that still runs."""

    began_ns: int
    parent: Context
    entries: list[Entry] = field(default_factory=list)


class TurnSpans:
    """A listener that gathers a turn's events and makes its spans of them when it is over.

    Args:
        tracers: Where the spans go; the host's own if None.
    """

    def __init__(
        self, *, aside: Aside, clock: Clock, tracers: TracerProvider | None = None
    ) -> None:
        self._aside = aside
        self._clock = clock
        self._tracer: Tracer = get_tracer(NAME, VERSION, tracers)
        self._lock = Lock()  # guards the one below and what is in it
        self._turns: Latest[str, _Gathered] = Latest()

    def __call__(self, entry: Entry) -> None:
        """Keep the entry; with the last one, hand the turn over."""
        with self._lock:
            turn = self._begun(entry) if entry.seq == 0 else self._turns.get(entry.turn_id)
            if turn is None:
                return  # what comes after the last entry
            turn.entries.append(entry)
            if not isinstance(entry.event, CleanedUp):
                return
            del self._turns[entry.turn_id]
        self._aside.put(partial(self._export, turn))

    def _begun(self, entry: Entry) -> _Gathered:
        """On the host's thread, so that its current span becomes the turn's parent."""
        now_ns = round(self._clock.now().timestamp() * 1e9)
        turn = _Gathered(began_ns=now_ns - round(entry.at_s * 1e9), parent=get_current())
        self._turns[entry.turn_id] = turn
        return turn

    def _export(self, turn: _Gathered) -> None:
        entries = tuple(sorted(turn.entries, key=lambda entry: entry.seq))
        past = PastTurn(entries=entries, began_ns=turn.began_ns, parent=turn.parent)
        TurnTrace(self._tracer, past).export()
