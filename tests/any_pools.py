"""Pools of keys in any state, as Hypothesis draws them."""

from dataclasses import replace
from datetime import datetime, timedelta

from builders import NOON
from contracts.keys import MODEL, OTHER_MODEL
from hypothesis import strategies as st

from turnkeeper.domain.failure import KeyErrorClass
from turnkeeper.domain.rotation import KeyHealth, KeyId, ModelRest, RotationKey

# It is noon when a test begins. Instants are far enough from each other and from noon that the
# time a test takes decides nothing.
TIMES = [NOON + timedelta(seconds=offset_s) for offset_s in (-2000, -700, -600, 600, 700, 2000)]
INSTANTS = st.sampled_from(TIMES)
MAYBE = st.none() | INSTANTS
ERRORS = st.tuples(st.sampled_from(KeyErrorClass), st.just("text"))
PAST, FUTURE = TIMES[:3], TIMES[3:]
MODELS = (MODEL, OTHER_MODEL)
MODEL_RESTS = [
    (ModelRest(model=MODEL, until=until), ModelRest(model=OTHER_MODEL, until=TIMES[0]))[:count]
    for until in TIMES
    for count in (1, 2)
]


def healths(
    rest: st.SearchStrategy[datetime | None], models: tuple[str | None, ...] = (None, *MODELS)
) -> st.SearchStrategy[KeyHealth]:
    """Keys in any health, whose rests and probes end at such instants, and are of such models."""
    return st.builds(
        KeyHealth,
        usage_count=st.integers(0, 2),
        in_flight=st.integers(0, 1),
        last_leased_at=st.sampled_from([None, *PAST]),
        error_count=st.integers(0, 2),
        rests_until=rest,
        rest_set_at=st.sampled_from([None, *PAST]),
        rest_model=st.sampled_from(models),
        probe_until=rest,
        model_rests=st.just(()) | st.sampled_from(MODEL_RESTS),
        last_error=st.none() | ERRORS,
    )


MOSTLY_FREE = healths(st.sampled_from([None, *PAST]))
ANY_HEALTH = healths(MAYBE)
RESTING = healths(st.sampled_from(FUTURE))
LIMITED = healths(st.sampled_from(FUTURE), (OTHER_MODEL,))
DISABLED = ANY_HEALTH.map(lambda health: replace(health, disabled=True))
MIXED = st.one_of(MOSTLY_FREE, MOSTLY_FREE, ANY_HEALTH, DISABLED)
# Of the main key and of the others.
OF_POOLS = [(MIXED, MIXED), (LIMITED, MIXED), (LIMITED, RESTING), (RESTING, RESTING)]
TRIED = st.just(frozenset[KeyId]()) | st.frozensets(st.integers(0, 3).map(KeyId), max_size=2)


@st.composite
def pools(draw: st.DrawFn) -> tuple[RotationKey, ...]:
    of_main, of_others = draw(st.sampled_from(OF_POOLS))
    count = draw(st.integers(1, 5))
    main = draw(st.integers(0, count))
    return tuple(
        RotationKey(
            id=KeyId(number),
            is_main=number == main,
            enabled=draw(st.sampled_from([True, True, True, False])),
            health=draw(of_main if number == main else of_others),
        )
        for number in range(count)
    )
