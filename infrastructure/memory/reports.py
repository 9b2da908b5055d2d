"""Looks back on the turns in memory."""

from collections import Counter
from datetime import datetime

from turnkeeper.application.ports.reports import (
    MOST_KEY_TROUBLES,
    MOST_TROUBLED,
    Asked,
    Page,
    Place,
    Reports,
)
from turnkeeper.domain.events import KeyBooked, TurnEnded, TurnSwept
from turnkeeper.domain.pool_history import KeyTrouble
from turnkeeper.domain.reports import Past, PastTurn, TurnSummary, summary
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.register import Register


class MemoryReports(Reports):
    """Looks through all turns that are remembered."""

    def __init__(self, register: Register, *, journal: MemoryJournal) -> None:
        self._register = register
        self._journal = journal

    def page(self, asked: Asked) -> Page:
        found = [turn for turn in self._over() if _is_asked_for(turn, asked)]
        listed = tuple(found[: asked.limit])
        goes_on = len(found) > asked.limit
        return Page(turns=listed, next=_place(listed[-1]) if goes_on else None)

    def turn(self, turn_id: str) -> PastTurn | None:
        written = self._journal.written(turn_id)
        over = self._past_turn(turn_id)
        return over or (self._as_of(turn_id, written[-1][1]) if written else None)

    def past(self, since: datetime, *, most: int = MOST_TROUBLED) -> Past:
        turns = [turn for turn in self._over() if turn.over_at >= since]
        lines = [(turn, summary(turn.entries)) for turn in turns]
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

    def _over(self) -> list[PastTurn]:
        """All turns that are over, the latest end first."""
        found = (self._past_turn(turn_id) for turn_id in self._journal.turn_ids())
        turns = [turn for turn in found if turn is not None]
        return sorted(turns, key=lambda turn: (turn.over_at, turn.turn_id), reverse=True)

    def _past_turn(self, turn_id: str) -> PastTurn | None:
        written = self._journal.written(turn_id)
        ends = [at for entry, at in written if isinstance(entry.event, TurnEnded | TurnSwept)]
        return self._as_of(turn_id, ends[0]) if ends else None

    def _as_of(self, turn_id: str, at: datetime) -> PastTurn:
        written = self._journal.written(turn_id)
        turn = self._register.get(turn_id)
        return PastTurn(
            turn_id=turn_id,
            server=str(turn.opening.server) if turn else "",
            over_at=at,
            entries=tuple(entry for entry, _ in written),
        )


def _is_asked_for(turn: PastTurn, asked: Asked) -> bool:
    line: TurnSummary = summary(turn.entries)
    before = asked.before
    return (
        asked.status in {None, line.status}
        and asked.server in {None, turn.server}
        and (line.was_rescued or not asked.rescued)
        and (before is None or _key(_place(turn)) < _key(before))
    )


def _place(turn: PastTurn) -> Place:
    return Place(over_at=turn.over_at, turn_id=turn.turn_id)


def _key(place: Place) -> tuple[datetime, str]:
    return place.over_at, place.turn_id
