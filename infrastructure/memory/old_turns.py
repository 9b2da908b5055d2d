"""What is kept of turns that are long over, in memory."""

from datetime import datetime, timedelta

from turnkeeper.application.ports.old_turns import OldTurns, Pruned
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.register import Register, Turn
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore


class MemoryOldTurns(OldTurns):
    """Forgets under the register's lock; a turn with its intents, its signal and its journal.

    A journal without a turn is forgotten by its number: only so many are kept.
    """

    def __init__(
        self,
        register: Register,
        *,
        ledger: MemoryLedger,
        journal: MemoryJournal,
        turns: MemoryTurnStore,
        notices: MemoryNotices,
    ) -> None:
        self._register = register
        self._ledger = ledger
        self._journal = journal
        self._turns = turns
        self._notices = notices

    def prune(self, *, older_than_s: float, limit: int) -> Pruned:
        with self._register.lock:
            before = self._register.clock.now() - timedelta(seconds=older_than_s)
            old = [turn for turn in self._register.all() if _is_old(turn, before)][:limit]
            messages = [len(self._ledger.left_by(turn.turn_id)) for turn in old]
            for turn in old:
                self._register.remove(turn.turn_id)
                self._ledger.forget(turn.turn_id)
            events = [self._journal.forget(turn.turn_id) for turn in old]
            units, refusals = self._turns.prune(before, limit)
            notices = self._notices.forget_old(before, limit)
        return Pruned(
            turns=len(old),
            journals=sum(count > 0 for count in events),
            events=sum(events),
            messages=sum(messages),
            notices=notices,
            units=units,
            refusals=refusals,
        )


def _is_old(turn: Turn, before: datetime) -> bool:
    is_over = turn.ended_at is not None and turn.sweep_due is None
    return is_over and turn.ended_at is not None and turn.ended_at < before
