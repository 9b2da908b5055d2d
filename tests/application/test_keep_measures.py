"""What one process has learnt of a model's tokens, the next knows."""

import pytest
from builders import a_model

from turnkeeper.application.keep_measures import KeepMeasures
from turnkeeper.application.ports.token_measures import TokenMeasure
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.infrastructure.memory.token_measures import MemoryTokenMeasures
from turnkeeper.infrastructure.token_estimator import TokenEstimator

ALPHA = a_model("alpha")


class DeadMeasures(MemoryTokenMeasures):
    is_dead = True

    def save(self, measures: tuple[TokenMeasure, ...]) -> None:
        if self.is_dead:
            raise StoreUnavailable("the store is away")
        super().save(measures)


def test_what_is_learnt_is_known_to_the_next_process() -> None:
    store, first, second = MemoryTokenMeasures(), TokenEstimator(), TokenEstimator()
    first.learn(ALPHA, counted=1000, reported=2000)
    KeepMeasures(counter=first, measures=store).flush()

    KeepMeasures(counter=second, measures=store).load()

    assert second.factor(ALPHA) == pytest.approx(first.factor(ALPHA))
    assert second.factor(ALPHA) > 1.0


def test_what_was_saved_is_not_saved_again() -> None:
    store, counter = MemoryTokenMeasures(), TokenEstimator()
    keep = KeepMeasures(counter=counter, measures=store)
    counter.learn(ALPHA, counted=1000, reported=2000)
    keep.flush()

    assert counter.learnt() == ()


def test_what_could_not_be_saved_is_saved_with_what_is_learnt_next() -> None:
    store, counter = DeadMeasures(), TokenEstimator()
    keep = KeepMeasures(counter=counter, measures=store)
    counter.learn(ALPHA, counted=1000, reported=2000)
    cause = keep.flush()
    store.is_dead = False
    counter.learn(ALPHA, counted=1000, reported=2000)

    assert cause == "the store is away"
    assert keep.flush() is None
    assert [measure.model for measure in store.load()] == ["alpha"]


def test_a_measure_out_of_bounds_is_not_believed() -> None:
    store, counter = MemoryTokenMeasures(), TokenEstimator()
    store.save((TokenMeasure(provider="wall", model="alpha", factor=1000.0),))

    KeepMeasures(counter=counter, measures=store).load()

    assert counter.factor(ALPHA) == 4.0
