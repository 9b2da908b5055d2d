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


@frozen
class Spent:
    """What a turn has used.

    Attributes:
        attempts: How many of its attempts ran.
        invocations: How often a model ran.
        input_tokens: As reported; None where nobody reported any.
        output_tokens: As reported; None where nobody reported any.
        cost_usd: In US dollars; None where a price or the tokens of an answer are not known.
    """

    attempts: int = 0
    invocations: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = Decimal(0)


def spent(entries: Iterable[Entry], prices: Mapping[str, Price]) -> Spent:
    """What a turn has used, by its journal.

    A failed invocation that reported no tokens costs nothing.

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
    return Spent(
        attempts=len({one.attempt_no for one in ended}),
        invocations=len(ended),
        input_tokens=_sum(one.input_tokens for one in ended),
        output_tokens=_sum(one.output_tokens for one in ended),
        cost_usd=sum(known, Decimal(0)) if len(known) == len(costs) else None,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None


def _cost(
    ended: InvocationEnded, attempt: Attempt | None, prices: Mapping[str, Price]
) -> Decimal | None:
    tokens = (ended.input_tokens, ended.output_tokens)
    if tokens == (None, None):
        return Decimal(0) if ended.failure is not None else None
    price = prices.get(attempt.model.id) if attempt is not None else None
    return None if price is None else price.of(tokens[0] or 0, tokens[1] or 0)
