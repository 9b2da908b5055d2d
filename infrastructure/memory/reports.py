"""Looks back on the turns in memory."""

from collections import Counter
from datetime import datetime

from turnkeeper.application.ports.reports import MOST_KEY_TROUBLES, MOST_TROUBLED, Reports
from turnkeeper.domain.events import KeyBooked, TurnEnded, TurnSwept
from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, TurnJournal, summary
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.register import Register


class MemoryReports(Reports):
    """Looks through all turns that are remembered."""

    def __init__(self, register: Register, *, journal: MemoryJournal) -> None:
        self._register = register
        self._journal = journal

    def turn(self, turn_id: str) -> TurnJournal | None:
        written = self._journal.written(turn_id)
        if not written:
            return None
        ends = [at for entry, at in written if isinstance(entry.event, TurnEnded | TurnSwept)]
        turn = self._register.get(turn_id)
        return TurnJournal(
            turn_id=turn_id,
            server=str(turn.server) if turn else "",
            over_at=ends[0] if ends else written[-1][1],
            entries=tuple(entry for entry, _ in written),
        )

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        lines = [(turn, summary(turn.entries)) for turn in self._over_since(since)]
        calm = Counter(line.answered_by for _, line in lines if not line.failures)
        troubled = tuple(turn for turn, line in lines if line.failures)
        return Past(
            calm=tuple(sorted((model, n) for model, n in calm.items() if model is not None)),
            troubled=troubled[:most],
            is_cut=len(troubled) > most,
        )

    def key_troubles(
        self, since: datetime, *, most: int = MOST_KEY_TROUBLES
    ) -> tuple[KeyTrouble, ...]:
        found = [
            KeyTrouble(at=at, turn_id=turn_id, booked=entry.event)
            for turn_id in self._journal.turn_ids()
            for entry, at in self._journal.written(turn_id)
            if isinstance(entry.event, KeyBooked) and entry.event.booking == "error" and at >= since
        ]
        return tuple(sorted(found, key=lambda one: one.at, reverse=True)[:most])

    def _over_since(self, since: datetime) -> list[TurnJournal]:
        """The turns that began since then and are over, the newest first."""
        with self._register.lock:
            over = [one for one in self._register.all() if one.ended_at is not None]
        began = [(one.opened_at, one.turn_id) for one in over if one.opened_at >= since]
        found = (self.turn(turn_id) for _, turn_id in sorted(began, reverse=True))
        return [turn for turn in found if turn is not None]
