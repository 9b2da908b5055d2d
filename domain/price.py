"""What models cost."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from turnkeeper.domain.events import (
    Entry,
    InvocationEnded,
    ServerRouteAsked,
    TurnStarted,
)
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.plan import Attempt

MILLION = 1_000_000


@frozen
class Price:
    """US dollars a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """What so many tokens cost, in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


def cost_of(entries: Iterable[Entry], prices: Mapping[str, Price]) -> Decimal | None:
    """What a turn has cost in US dollars, by its journal.

    None where a price or the tokens of an answer are not known. A failed invocation that reported
    no tokens costs nothing.

    Args:
        prices: By the id of the model.
    """
    attempts: dict[int, Attempt] = {}
    ended: list[InvocationEnded] = []
    for entry in entries:
        match entry.event:
            case TurnStarted(attempts=planned) | ServerRouteAsked(attempts=planned):
                attempts |= {attempt.number: attempt for attempt in planned}
            case InvocationEnded() as event:
                ended.append(event)
    costs = [_cost(one, attempts.get(one.attempt_no), prices) for one in ended]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def _cost(
    ended: InvocationEnded, attempt: Attempt | None, prices: Mapping[str, Price]
) -> Decimal | None:
    tokens = (ended.input_tokens, ended.output_tokens)
    if tokens == (None, None):
        return Decimal(0) if ended.failure is not None else None
    price = prices.get(attempt.model.id) if attempt is not None else None
    return None if price is None else price.of(tokens[0] or 0, tokens[1] or 0)
