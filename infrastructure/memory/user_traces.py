"""What is kept of one user, in memory."""

from dataclasses import dataclass

from turnkeeper.application.ports.user_traces import Traces, UserTraces
from turnkeeper.domain.events import ToolRan
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.register import Register, Turn
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore


@dataclass(frozen=True, kw_only=True)
class MemoryUserTraces(UserTraces):
    """Asks each of the other adapters, under the register's lock."""

    register: Register
    ledger: MemoryLedger
    journal: MemoryJournal
    turns: MemoryTurnStore
    notices: MemoryNotices
    keys: MemoryKeyRing
    settings: MemorySettingsStore

    def count(self, user_id: str) -> Traces:
        with self.register.lock:
            over, unfinished = self._turns_of(user_id)
            kept = Traces(
                notices=self.notices.count_of(user_id),
                counts=self.turns.count_of(user_id),
                keys=len(self.keys.keys(Owner.user(user_id))),
                settings=self.settings.count_of(Owner.user(user_id)),
                unfinished=len(unfinished),
            )
            for turn in over:
                kept = kept.plus(self._left_by(turn))
            return kept

    def forget_turns(self, user_id: str, *, limit: int) -> Traces:
        gone = Traces()
        with self.register.lock:
            for turn in self._turns_of(user_id)[0][:limit]:
                gone = gone.plus(self._left_by(turn))
                self.register.remove(turn.turn_id)
                self.ledger.forget(turn.turn_id)
                self.journal.forget(turn.turn_id)
        return gone

    def forget_account(self, user_id: str) -> Traces:
        owner = Owner.user(user_id)
        with self.register.lock:
            keys = [saved.key.id for saved in self.keys.keys(owner)]
            return Traces(
                notices=self.notices.forget_of(user_id),
                counts=self.turns.forget_of(user_id),
                keys=sum(self.keys.remove(owner, key_id) for key_id in keys),
                settings=self.settings.forget(owner),
            )

    def _turns_of(self, user_id: str) -> tuple[list[Turn], list[Turn]]:
        """Those that are over, and the others."""
        mine = [turn for turn in self.register.all() if turn.user_id == user_id]
        over = [turn for turn in mine if turn.ended_at is not None and turn.sweep_due is None]
        return over, [turn for turn in mine if turn not in over]

    def _left_by(self, turn: Turn) -> Traces:
        entries = self.journal.entries(turn.turn_id)
        return Traces(
            turns=1,
            entries=len(entries),
            tool_runs=sum(isinstance(entry.event, ToolRan) for entry in entries),
            messages=len(self.ledger.left_by(turn.turn_id)),
        )
