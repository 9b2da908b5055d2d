"""Pages of turns, with what each has used."""

from collections.abc import Iterable
from decimal import Decimal

from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.turn_history import (
    PastTurn,
    TurnCursor,
    TurnHistory,
    TurnQuery,
)
from turnkeeper.domain.events import TurnEnded
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.model import Model
from turnkeeper.domain.price import Price, Spent, spent

MOST = 200


@frozen
class ListedTurn:
    """A turn, and what it has used by the prices of today.

    Attributes:
        took_s: From its beginning to its end, in seconds; None before.
        answered_by: The name of the model that answered, or None.
    """

    turn: PastTurn
    spent: Spent
    took_s: float | None = None
    answered_by: str | None = None


@frozen
class TurnsPage:
    """Some turns, newest first; `next` is where the next page begins, or None."""

    turns: tuple[ListedTurn, ...]
    next: TurnCursor | None = None


class ListTurns:
    """Lists turns."""

    def __init__(self, *, history: TurnHistory, editor: SettingsEditor) -> None:
        self._history = history
        self._editor = editor

    def __call__(
        self, query: TurnQuery = TurnQuery(), *, before: TurnCursor | None = None, limit: int = 20
    ) -> TurnsPage:
        """The newest turns of the query, or the newest before a place.

        Args:
            limit: 1 to `MOST`.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        limit = max(1, min(limit, MOST))
        found = self._history.page(query, before=before, limit=limit + 1)
        prices = prices_of(self._editor.models())
        shown = found[:limit]
        return TurnsPage(
            turns=tuple(_listed(turn, prices) for turn in shown),
            next=shown[-1].cursor if len(found) > limit else None,
        )


def prices_of(models: Iterable[Model]) -> dict[str, Price]:
    """The prices that are known, by the id of the model."""
    return {
        model.id: Price(
            input=Decimal(str(model.price_in_per_mtok)),
            output=Decimal(str(model.price_out_per_mtok)),
        )
        for model in models
        if model.price_in_per_mtok is not None and model.price_out_per_mtok is not None
    }


def _listed(turn: PastTurn, prices: dict[str, Price]) -> ListedTurn:
    ends = [entry for entry in turn.entries if isinstance(entry.event, TurnEnded)]
    last = ends[-1] if ends else None
    took_s = last.at_s if last is not None else None
    if took_s is None and turn.ended_at is not None:
        took_s = (turn.ended_at - turn.opened_at).total_seconds()
    answered_by = last.event.success_model if last and isinstance(last.event, TurnEnded) else None
    return ListedTurn(
        turn=turn, spent=spent(turn.entries, prices), took_s=took_s, answered_by=answered_by
    )
