"""Pages of turns, with what each has cost."""

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
from turnkeeper.domain.price import Price, cost_of
from turnkeeper.domain.reports import TurnSummary, summary

MOST = 200


@frozen
class ListedTurn:
    """A turn, how it went, and what it has cost by the prices of today.

    Attributes:
        line: What its journal says.
        took_s: From its beginning to its end, in seconds; None before.
        cost_usd: In US dollars; None where a price or the tokens of an answer are not known.
    """

    turn: PastTurn
    line: TurnSummary
    took_s: float | None = None
    cost_usd: Decimal | None = None


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
    ends = [entry.at_s for entry in turn.entries if isinstance(entry.event, TurnEnded)]
    took_s = ends[-1] if ends else None
    if took_s is None and turn.ended_at is not None:
        took_s = (turn.ended_at - turn.opened_at).total_seconds()
    return ListedTurn(
        turn=turn,
        line=summary(turn.entries),
        took_s=took_s,
        cost_usd=cost_of(turn.entries, prices),
    )
