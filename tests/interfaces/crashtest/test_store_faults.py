"""The faults of the store: what is made of a turn, on turns that never ran."""

from dataclasses import replace

import pytest

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY, STORY
from turnkeeper.interfaces.crashtest.breakable_store import BreakableStore, What
from turnkeeper.interfaces.crashtest.ground import Ground
from turnkeeper.interfaces.crashtest.observed import Call, Caller, Channel, Observed, Provider
from turnkeeper.interfaces.crashtest.score import Grade, Score
from turnkeeper.interfaces.crashtest.store_faults import FAULTS, End, StoreFault, met, score_of

BY_ID = {fault.id: fault for fault in FAULTS}
ASKED = Provider(primary=(Call(at_s=0.0, size_bytes=9, key="a"),))
PIECES = tuple(piece.strip() for piece in STORY.pieces)
REFUSED = Observed(caller=Caller(took_s=0.1, status=TurnStatus.ERROR), channel=Channel(errors=1))
WHOLE = Observed(
    caller=Caller(took_s=0.1, status=TurnStatus.COMPLETED, answered_by="primary"),
    provider=ASKED,
    channel=Channel(said=PIECES),
)


def test_each_has_an_id_of_its_own() -> None:
    assert len(BY_ID) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_what_is_expected_is_passed(fault: StoreFault) -> None:
    is_long = fault.when == "in the middle of"
    said = PIECES if is_long else (FROM_PRIMARY.whole_text,)
    whole = replace(WHOLE, channel=Channel(said=said))

    seen = REFUSED if fault.end is End.REFUSED else whole

    assert score_of(fault, seen, ()) == Score(grade=Grade.PASS)


@pytest.mark.parametrize(
    ("fault_id", "seen"),
    [
        ("C01", WHOLE),
        ("C01", replace(REFUSED, channel=Channel())),
        ("C01", replace(REFUSED, provider=ASKED)),
        ("C01", replace(REFUSED, channel=Channel(errors=1, said=PIECES[:1]))),
        ("C02", REFUSED),
        ("C02", replace(WHOLE, channel=Channel(said=PIECES[:40]))),
        ("C02", replace(WHOLE, channel=Channel(said=PIECES, errors=1))),
        ("C02", replace(WHOLE, breaches=("the turn ends once: twice",))),
        ("C02", replace(WHOLE, caller=Caller(took_s=120.0))),
    ],
)
def test_anything_else_is_a_fail(fault_id: str, seen: Observed) -> None:
    assert score_of(BY_ID[fault_id], seen, ()).grade is Grade.FAIL


def test_what_is_left_over_afterwards_is_partial() -> None:
    left = ("1 leases were never given back",)

    assert score_of(BY_ID["C02"], WHOLE, left) == Score(grade=Grade.PARTIAL, why=left)


class Lost(BreakableStore):
    """Nobody mends it."""

    def mend(self, what: What) -> None:
        pass


class Sturdy(Lost):
    """Nothing breaks it, so that a turn goes on where it should not."""

    def break_by(self, what: What) -> None:
        pass


@pytest.mark.postgres
def test_a_turn_that_goes_on_where_nothing_can_be_kept_is_a_fail() -> None:
    with Ground(speed=20.0) as ground, Sturdy() as store:
        got, _ = met(ground, store, BY_ID["C08"], "openai")

    assert got.grade is Grade.FAIL
    assert "providers were asked 1 times, though nothing can be kept" in got.why


@pytest.mark.postgres
def test_a_turnkeeper_that_does_not_recover_is_not_passed() -> None:
    with Ground(speed=20.0) as ground, Lost() as store:
        got, _ = met(ground, store, BY_ID["C02"], "openai")

    assert got == Score(
        grade=Grade.PARTIAL, why=("the store is back, and the next turn is not answered",)
    )
