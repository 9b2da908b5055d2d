from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from builders import NOON, SERVER, a_lease
from contracts.key_bookings import KeyBookingsContract
from contracts.key_crowds import KeyCrowdsContract
from contracts.key_rests import KeyRestsContract
from contracts.key_ring import KeyRingContract
from contracts.key_vault import KeyVaultContract
from contracts.keys import MODEL, OTHER_MODEL, PROVIDER, Keys
from forgetful_vault import ForgetfulVault
from sqlalchemy import Engine, select, text, update

from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.rotation import BookNeutral, Lease
from turnkeeper.infrastructure.postgres.engine import connected, create_engine_for, transaction
from turnkeeper.infrastructure.postgres.key_ring import PostgresKeyRing
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.tables import key_state
from turnkeeper.infrastructure.vault import AesGcmVault

pytestmark = pytest.mark.postgres

# The database's clock cannot be moved, so what it stamped is. What is only compared with leases
# that are out stays.
MOVE = text(
    """
    UPDATE key_state SET
        last_leased_at = last_leased_at - :passed,
        rests_until = rests_until - :passed,
        probe_until = probe_until - :passed,
        model_rests = (
            SELECT COALESCE(jsonb_object_agg(key, value::timestamptz - :passed), '{}')
            FROM jsonb_each_text(model_rests)
        )
    """
)


@pytest.fixture
def keys(database: Engine) -> Keys:
    def pass_time(seconds: float) -> None:
        with connected(database) as connection:
            connection.execute(MOVE, {"passed": timedelta(seconds=seconds)})

    vault = ForgetfulVault()
    return Keys(
        ring=PostgresKeyRing(database, vault=vault),
        saved=PostgresKeyVault(database, vault=vault),
        vault=vault,
        pass_time=pass_time,
    )


class InPostgres:
    @pytest.fixture
    def keys(self, keys: Keys) -> Keys:
        return keys


class TestPostgresKeyRing(InPostgres, KeyRingContract):
    pass


class TestPostgresKeyRests(InPostgres, KeyRestsContract):
    pass


class TestPostgresKeyBookings(InPostgres, KeyBookingsContract):
    pass


class TestPostgresKeyCrowds(InPostgres, KeyCrowdsContract):
    pass


class TestPostgresKeyVault(InPostgres, KeyVaultContract):
    pass


def test_a_locked_key_is_waited_for_and_not_read_as_none(keys: Keys, database: Engine) -> None:
    (first,) = keys.add("one")
    with ThreadPoolExecutor(1) as pool:
        with transaction(database) as holder:
            holder.execute(select(key_state).with_for_update())
            asked = pool.submit(keys.ask)
            wait_for_a_waiting_lock(database)
        answer = asked.result(30)

    assert isinstance(answer, Lease)
    assert answer.key_id == first


def test_a_key_that_is_limited_just_then_gives_way_to_a_free_one(
    keys: Keys, database: Engine
) -> None:
    first, second = keys.add("one", "two")
    limited = {"rests_until": NOON + timedelta(days=10_000), "rest_model": MODEL}
    with ThreadPoolExecutor(1) as pool:
        with transaction(database) as holder:
            holder.execute(update(key_state).filter_by(key_id=first).values(limited))
            asked = pool.submit(keys.lend, model=OTHER_MODEL)
            wait_for_a_waiting_lock(database)
        lease = asked.result(30)

    assert lease.key_id == second


def wait_for_a_waiting_lock(engine: Engine) -> None:
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    for _ in range(3000):
        with connected(engine) as connection:
            if connection.scalar(waiting):
                return
            connection.execute(text("SELECT pg_sleep(0.01)"))
    raise AssertionError("nobody waits for a lock")


def test_what_leases_and_neutral_bookings_write_stays_on_its_page(
    keys: Keys, database: Engine
) -> None:
    keys.add("one", "two", "three")
    before = updates(database)

    for _ in range(100):
        keys.ring.book(keys.lend(), BookNeutral())

    changed, on_page = (now - then for now, then in zip(updates(database), before, strict=True))
    assert changed == on_page == 200


FIT, RESTING = "NULL", "now() + interval '1 hour'"
MANY = """
INSERT INTO provider_keys (owner, provider, id, sealed, key_version, hint, fingerprint)
SELECT owner || CASE WHEN n > 1500 THEN n::text ELSE '' END, provider, 1000 + n, sealed,
    key_version, '', decode(md5(n::text), 'hex')
FROM provider_keys, generate_series(1, 20000) AS n;
INSERT INTO key_state (owner, provider, key_id, is_main, rests_until)
SELECT owner, provider, id, owner <> '{owner}', {rests_until} FROM provider_keys WHERE id > 1000;
ANALYZE;
"""
LEASES = 20


@pytest.mark.parametrize(
    ("rests_until", "is_in_use"), [(FIT, False), (RESTING, False), (RESTING, True)]
)
def test_a_lease_looks_at_few_keys_of_a_large_pool(
    keys: Keys, database: Engine, rests_until: str, is_in_use: bool
) -> None:
    keys.add("one")
    with connected(database) as connection:
        for statement in MANY.format(owner=SERVER, rests_until=rests_until).split(";\n")[:-1]:
            connection.execute(text(statement))
    if is_in_use:
        keys.lend()
    before = rows_read(database)

    for _ in range(LEASES):
        keys.ring.book(keys.lend(), BookNeutral())

    assert rows_read(database) - before < LEASES * 30


def rows_read(engine: Engine) -> int:
    """How many rows and entries of keys all statements have read until now."""
    counts = text(
        """
        SELECT sum(idx_tup_read) + (
            SELECT sum(seq_tup_read) FROM pg_stat_user_tables
            WHERE relname IN ('key_state', 'provider_keys'))
        FROM pg_stat_user_indexes WHERE relname IN ('key_state', 'provider_keys')
        """
    )
    with connected(engine) as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        connection.execute(text("SELECT 1"))
        return int(connection.execute(counts).scalar_one())


def updates(engine: Engine) -> tuple[int, int]:
    """How often key_state was updated, and how often on the row's own page."""
    counts = text(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'key_state'"
    )
    with connected(engine) as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        connection.execute(text("SELECT 1"))
        upd, hot = connection.execute(counts).one()
        return upd, hot


def test_a_store_that_is_away_is_said_to_be(vault: AesGcmVault) -> None:
    engine = create_engine_for("postgresql+psycopg://nobody@127.0.0.1:1/none", pool_size=1)
    ring = PostgresKeyRing(engine, vault=vault)

    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
        ring.lease(SERVER, PROVIDER, model=MODEL, without=frozenset())
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
        ring.book(a_lease(), BookNeutral())
