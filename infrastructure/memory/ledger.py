"""The delivery ledger in memory."""

from dataclasses import dataclass

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.ledger import Fates, Intent, IntentState, Ledger
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.memory.latest import Latest
from turnkeeper.infrastructure.memory.register import Register


@dataclass(slots=True)
class _Line:
    intent: Intent
    state: IntentState = IntentState.INTENDED
    message_id: str | None = None


class MemoryLedger(Ledger):
    """Keeps the intents of the latest turns.

    Args:
        register: Knows whether a turn was given up.
        journal: Where the entries go that travel with a write.
    """

    def __init__(self, register: Register, *, journal: Journal) -> None:
        self._register = register
        self._journal = journal
        self._turns: Latest[str, dict[str, _Line]] = Latest()

    def intend(
        self, intent: Intent, *, fates: Fates = Fates(), entries: tuple[Entry, ...] = ()
    ) -> bool:
        with self._register.lock:
            self._meet(intent.turn_id, fates)
            goes_on = self._register.is_current(intent.turn_id, intent.epoch)
            if goes_on:
                self._lines(intent.turn_id).setdefault(intent.intent_id, _Line(intent))
        self._journal.record(entries)
        return goes_on

    def settle(self, turn_id: str, fates: Fates, *, entries: tuple[Entry, ...] = ()) -> None:
        with self._register.lock:
            self._meet(turn_id, fates)
        self._journal.record(entries)

    def left_by(self, turn_id: str) -> tuple[tuple[Intent, IntentState, str | None], ...]:
        with self._register.lock:
            lines = tuple(self._turns.get(turn_id, {}).values())
            return tuple((line.intent, line.state, line.message_id) for line in lines)

    def _lines(self, turn_id: str) -> dict[str, _Line]:
        if turn_id not in self._turns:
            self._turns[turn_id] = {}
        return self._turns[turn_id]

    def _meet(self, turn_id: str, fates: Fates) -> None:
        lines = self._turns.get(turn_id, {})
        for intent_id, delivery in fates.posted:
            if intent_id in lines:
                lines[intent_id].message_id = delivery.message_id
                _turn_into(lines[intent_id], IntentState.POSTED)
        for line in lines.values():
            if line.message_id in fates.stuck:
                _turn_into(line, IntentState.STUCK)
            if line.message_id in fates.taken_back:
                _turn_into(line, IntentState.TAKEN_BACK)


def _turn_into(line: _Line, state: IntentState) -> None:
    """What is gone stays gone, and what is stuck was posted."""
    is_late = state is IntentState.POSTED and line.state is not IntentState.INTENDED
    if line.state is not IntentState.TAKEN_BACK and not is_late:
        line.state = state
