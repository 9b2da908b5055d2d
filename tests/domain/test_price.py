from decimal import Decimal

import pytest
from builders import an_attempt
from past_turns import answered, failed, journal, rescued, started

from turnkeeper.domain import events
from turnkeeper.domain.owner import Route
from turnkeeper.domain.price import Price, cost_of

CHEAP = Price(input=Decimal("0.15"), output=Decimal("0.60"))
DEAR = Price(input=Decimal("3"), output=Decimal("15"))
PRICES = {"wall:model-0": DEAR, "wall:model-1": CHEAP}


def test_tokens_cost_what_a_million_of_them_cost() -> None:
    assert DEAR.of(1_000_000, 200_000) == Decimal("6")
    assert CHEAP.of(1, 0) == Decimal("0.00000015")


def test_a_rescued_turn_costs_what_answered() -> None:
    assert cost_of(rescued(), PRICES) == CHEAP.of(12, 34)


def test_without_the_price_of_what_answered_the_cost_is_unknown() -> None:
    assert cost_of(rescued(), {"wall:model-0": DEAR}) is None


def test_a_failure_without_tokens_costs_nothing() -> None:
    told = journal((0.0, started()), (1.0, failed(0, 0)))

    assert cost_of(told, {}) == Decimal(0)


def test_an_answer_without_tokens_costs_nobody_knows_what() -> None:
    silent = events.InvocationEnded(attempt_no=0, invocation_no=0, outcome="Answered")

    assert cost_of(journal((0.0, started()), (1.0, silent)), PRICES) is None


def test_the_servers_attempts_have_their_own_prices() -> None:
    lent = events.ServerRouteAsked(answer="opened", attempts=(an_attempt(1),))
    told = journal((0.0, started(Route.PERSONAL)), (1.0, lent), (2.0, answered(1, 0)))

    assert cost_of(told, PRICES) == CHEAP.of(12, 34)


@pytest.mark.parametrize("entries", [(), journal((0.0, started()))])
def test_a_turn_that_asked_nobody_costs_nothing(entries: tuple[events.Entry, ...]) -> None:
    assert cost_of(entries, PRICES) == Decimal(0)
