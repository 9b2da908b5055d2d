"""The delivery ledger in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.ledger import NO_FATES, Fates, Intent, IntentState, Ledger
from turnkeeper.application.ports.orphans import Left
from turnkeeper.domain.events import Entry
from turnkeeper.infrastructure.memory.latest import Latest
from turnkeeper.infrastructure.memory.register import Register


@dataclass(slots=True)
class _Line:
    intent: Intent
    written_at: datetime
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
        self, intent: Intent, *, fates: Fates = NO_FATES, entries: Sequence[Entry] = ()
    ) -> bool:
        register, turn_id = self._register, intent.turn_id
        with register.lock:
            if fates is not NO_FATES:
                self._meet(turn_id, fates)
            goes_on = register.is_current(turn_id, intent.epoch)
            if goes_on:
                self._add(_Line(intent, register.clock.now()))
        self._journal.record(entries)
        return goes_on

    def settle(self, turn_id: str, fates: Fates, *, entries: Sequence[Entry] = ()) -> None:
        with self._register.lock:
            if fates is not NO_FATES:
                self._meet(turn_id, fates)
        self._journal.record(entries)

    def left_by(self, turn_id: str) -> tuple[tuple[Intent, IntentState, str | None], ...]:
        with self._register.lock:
            lines = tuple(self._turns.get(turn_id, {}).values())
            return tuple((line.intent, line.state, line.message_id) for line in lines)

    def remember(self, left: Left) -> None:
        """Add an intent that its turn could not write."""
        with self._register.lock:
            self._add(_Line(left.intent, left.written_at, left.state, left.message_id))
            self._register.become_due(left.intent.turn_id, has_stuck=False)

    def mark_absent(self, turn_id: str, intent_ids: tuple[str, ...]) -> None:
        """Note that messages were looked for and are not there."""
        with self._register.lock:
            lines = self._turns.get(turn_id, {})
            for intent_id in intent_ids:
                if lines[intent_id].state is IntentState.INTENDED:
                    lines[intent_id].state = IntentState.ABSENT

    def forget(self, turn_id: str) -> None:
        """Strike out the intents of a turn."""
        with self._register.lock:
            self._turns.pop(turn_id, None)

    def left(self, which: Callable[[Intent, IntentState], bool]) -> tuple[Left, ...]:
        """The intents of all turns of which this holds, in order of writing."""
        with self._register.lock:
            lines = [line for turn in self._turns.values() for line in turn.values()]
            found = [
                Left(
                    intent=line.intent,
                    state=line.state,
                    message_id=line.message_id,
                    written_at=line.written_at,
                )
                for line in lines
                if which(line.intent, line.state)
            ]
        return tuple(sorted(found, key=lambda left: left.written_at))

    def _add(self, line: _Line) -> None:
        """Add a line, unless its intent has one."""
        intent = line.intent
        lines = self._turns.get(intent.turn_id)
        if lines is None:
            self._turns[intent.turn_id] = {intent.intent_id: line}
        else:
            lines.setdefault(intent.intent_id, line)

    def _meet(self, turn_id: str, fates: Fates) -> None:
        posted, stuck, gone = fates.posted, fates.stuck, fates.taken_back
        if posted or stuck:
            self._register.become_due(turn_id, has_stuck=bool(stuck))
        lines = self._turns.get(turn_id, _NO_LINES)
        for intent_id, delivery in posted:
            line = lines.get(intent_id)
            if line is not None:
                line.message_id = delivery.message_id
                if line.state in _MAY_COME:
                    line.state = IntentState.POSTED
        if stuck or gone:
            for line in lines.values():
                _take_away(line, stuck, gone)


_NO_LINES: dict[str, _Line] = {}
_MAY_COME = (IntentState.INTENDED, IntentState.ABSENT)
"""What is gone stays gone, what is stuck was posted, and what was absent may have come."""


def _take_away(line: _Line, stuck: tuple[str, ...], gone: tuple[str, ...]) -> None:
    if line.state is IntentState.TAKEN_BACK:
        return
    if line.message_id in gone:
        line.state = IntentState.TAKEN_BACK
    elif line.message_id in stuck:
        line.state = IntentState.STUCK
