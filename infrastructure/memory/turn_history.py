"""Turns that have been, in memory."""

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.turn_history import PastTurn, TurnCursor, TurnHistory, TurnQuery
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import GIVEN_UP, RUNNING
from turnkeeper.infrastructure.memory.register import Register, Turn


class MemoryTurnHistory(TurnHistory):
    """The turns of the register, with their journals."""

    def __init__(self, register: Register, *, journal: Journal) -> None:
        self._register = register
        self._journal = journal

    def page(
        self, query: TurnQuery, *, before: TurnCursor | None, limit: int
    ) -> tuple[PastTurn, ...]:
        with self._register.lock:
            turns = [_past(turn) for turn in self._register.all()]
            found = [turn for turn in turns if _fits(turn, query) and _is_before(turn, before)]
            shown = sorted(found, key=_place, reverse=True)[:limit]
            return tuple(
                [replace(turn, entries=self._journal.entries(turn.turn_id)) for turn in shown]
            )


def _past(turn: Turn) -> PastTurn:
    """Without its entries, which only a turn that is shown needs."""
    result = turn.result
    ended = result.status.value if result is not None else RUNNING
    return PastTurn(
        turn_id=turn.turn_id,
        server=turn.server,
        channel_id=turn.channel_id,
        user_id=turn.user_id,
        status=GIVEN_UP if turn.given_up else ended,
        rescued=result is not None and result.was_rescued,
        opened_at=turn.opened_at,
        ended_at=turn.ended_at,
    )


def _fits(turn: PastTurn, query: TurnQuery) -> bool:
    return (
        query.server in {None, turn.server}
        and query.user_id in {None, turn.user_id}
        and query.status in {None, turn.status}
        and (turn.rescued or not query.rescued_only)
    )


def _place(turn: PastTurn) -> tuple[int, str]:
    return turn.cursor.opened_us, turn.cursor.turn_id


def _is_before(turn: PastTurn, cursor: TurnCursor | None) -> bool:
    return cursor is None or _place(turn) < (cursor.opened_us, cursor.turn_id)
