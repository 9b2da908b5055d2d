"""The rules of rotation in SQL against the same rules in the domain, on any pool."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from any_pools import INSTANTS, MIXED, MODELS, RESTING, TRIED, pools
from builders import NOON, SERVER
from contracts.keys import MODEL, PROVIDER
from forgetful_vault import ForgetfulVault
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, delete, insert, select

from turnkeeper.application.ports.key_ring import NoneFree
from turnkeeper.domain.failure import CooldownScope, KeyErrorClass
from turnkeeper.domain.rotation import (
    BookError,
    Booking,
    BookNeutral,
    BookSuccess,
    Chosen,
    KeyHealth,
    KeyId,
    Lease,
    ModelRest,
    RotationKey,
    RotationPool,
    booked,
    lent,
)
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.key_ring import PostgresKeyRing
from turnkeeper.infrastructure.postgres.key_rows import rotation_key
from turnkeeper.infrastructure.postgres.tables import key_state, provider_keys

pytestmark = pytest.mark.postgres

FAILURES = st.builds(
    BookError,
    booked_as=st.just(KeyErrorClass.API_ERROR),
    text=st.just("later"),
    scope=st.sampled_from([*CooldownScope, *[CooldownScope.KEY] * 5]),
    rest_s=st.sampled_from((0.0, 300.0, 650.0, 3000.0)),
    model=st.sampled_from(MODELS),
    spares_other_models=st.booleans(),
)
SUCCESSES = st.builds(BookSuccess, model=st.sampled_from(MODELS))
BOOKINGS: st.SearchStrategy[Booking] = st.one_of(
    FAILURES, FAILURES, SUCCESSES, st.just(BookNeutral())
)


@pytest.fixture
def connection(database: Engine) -> Iterator[Connection]:
    with connected(database) as connection:
        yield connection


class Pool:
    """A pool in the database, as if it were noon."""

    def __init__(self, connection: Connection, keys: tuple[RotationKey, ...]) -> None:
        self.vault = ForgetfulVault()
        self._connection = connection
        self._shift = datetime.now(UTC) - NOON
        connection.execute(delete(provider_keys))
        for key in keys:
            self._store(replace(key, health=moved(key.health, self.to_real)))

    def to_real(self, instant: datetime) -> datetime:
        return instant + self._shift

    def to_noon(self, instant: datetime) -> datetime:
        return instant - self._shift

    def stored(self) -> tuple[RotationKey, ...]:
        rows = self._connection.execute(select(key_state).order_by(key_state.c.key_id))
        keys = (rotation_key(row._asdict()) for row in rows)
        return tuple(replace(key, health=moved(key.health, self.to_noon)) for key in keys)

    def _store(self, key: RotationKey) -> None:
        place = {"owner": str(SERVER), "provider": PROVIDER}
        row = str(key.id)
        sealed = self.vault.seal(Secret(row), owner=SERVER, provider=PROVIDER, row=row)
        self._connection.execute(
            insert(provider_keys).values(
                **place,
                id=key.id,
                sealed=sealed.data,
                key_version=sealed.version,
                hint="",
                fingerprint=row.encode(),
            )
        )
        self._connection.execute(insert(key_state).values(**place, **state_row(key)))


def state_row(key: RotationKey) -> dict[str, object]:
    health = key.health
    error_class, error_text = health.last_error or (None, None)
    same = ("usage_count", "in_flight", "last_leased_at", "error_count", "disabled")
    rest = ("rests_until", "rest_set_at", "rest_model", "probe_until")
    return {
        "key_id": key.id,
        "is_main": key.is_main,
        "enabled": key.enabled,
        **{name: getattr(health, name) for name in (*same, *rest)},
        "model_rests": {rest.model: rest.until.isoformat() for rest in health.model_rests},
        "last_error_class": error_class.value if error_class else None,
        "last_error_text": error_text,
        "secret_since": NOON - timedelta(days=10_000),
    }


def moved(health: KeyHealth, move: Callable[[datetime], datetime]) -> KeyHealth:
    def maybe(instant: datetime | None) -> datetime | None:
        return None if instant is None else move(instant)

    return replace(
        health,
        last_leased_at=maybe(health.last_leased_at),
        rests_until=maybe(health.rests_until),
        rest_set_at=maybe(health.rest_set_at),
        probe_until=maybe(health.probe_until),
        model_rests=tuple(
            ModelRest(model=rest.model, until=move(rest.until))
            for rest in sorted(health.model_rests, key=lambda rest: rest.model)
        ),
    )


def rounded(instant: datetime) -> datetime:
    """The same to 50 seconds."""
    steps = round((instant - NOON) / timedelta(seconds=50))
    return NOON + steps * timedelta(seconds=50)


ANY_POOL = settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
OFF = RotationKey(
    id=KeyId(1), enabled=False, health=KeyHealth(rests_until=NOON + timedelta(seconds=600))
)


@ANY_POOL
@given(keys=pools(), without=TRIED)
@example(keys=(OFF,), without=frozenset())
def test_a_lease_is_what_the_rule_chooses(
    database: Engine,
    connection: Connection,
    keys: tuple[RotationKey, ...],
    without: frozenset[KeyId],
) -> None:
    pool = Pool(connection, keys)
    ring = PostgresKeyRing(database, vault=pool.vault)

    got = ring.lease(SERVER, PROVIDER, model=MODEL, without=without)

    now = pool.to_noon(got.leased_at) if isinstance(got, Lease) else NOON
    chosen = RotationPool(keys=keys).choose(model=MODEL, without=without, now=now)
    if isinstance(chosen, Chosen):
        key = chosen.key
        assert got == Lease(
            owner=SERVER,
            provider=PROVIDER,
            key_id=key.id,
            secret=Secret(str(key.id)),
            leased_at=pool.to_real(now),
            is_main=key.is_main,
            is_probe=chosen.is_probe,
        )
        health = lent(key.health, now=now, is_probe=chosen.is_probe)
        lent_key = replace(key, health=health)
        assert pool.stored() == tuple(lent_key if other is key else other for other in keys)
    else:
        assert isinstance(got, NoneFree)
        soon_s = None if chosen.next_at is None else (chosen.next_at - now).total_seconds()
        assert got.next_in_s == (None if soon_s is None else pytest.approx(soon_s, abs=25))
        assert pool.stored() == keys


@ANY_POOL
@given(
    health=MIXED | RESTING,
    booking=BOOKINGS,
    keeps_lease=st.booleans(),
    leased_at=INSTANTS,
    is_probe=st.booleans(),
)
def test_a_booking_does_what_the_rule_says(
    database: Engine,
    connection: Connection,
    health: KeyHealth,
    booking: Booking,
    keeps_lease: bool,
    is_probe: bool,
    leased_at: datetime,
) -> None:
    pool = Pool(connection, (RotationKey(id=KeyId(1), health=health),))
    lease = Lease(
        owner=SERVER,
        provider=PROVIDER,
        key_id=KeyId(1),
        secret=Secret("1"),
        leased_at=pool.to_real(leased_at),
        is_probe=is_probe,
    )

    ring = PostgresKeyRing(database, vault=pool.vault)
    ring.book(lease, booking, keeps_lease=keeps_lease)

    (got,) = pool.stored()
    expected = booked(
        health, booking, replace(lease, leased_at=leased_at), now=NOON, keeps_lease=keeps_lease
    )
    assert moved(got.health, rounded) == moved(expected, rounded)
