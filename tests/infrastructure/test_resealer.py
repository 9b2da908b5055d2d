from dataclasses import replace
from itertools import count

import pytest
from builders import SERVER, USER
from contracts.keys import PROVIDER, at_once
from forgetful_vault import ForgetfulVault
from sqlalchemy import Column, Engine, Integer, LargeBinary, MetaData, Table, Text, insert, select

from turnkeeper.application.audit_secrets import SealedBy, SecretsAudit, audit_secrets
from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.application.ports.resealer import SealedRow
from turnkeeper.application.rotate_secrets import Rotation, rotate_secrets
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.resealer import PAGE_ROWS, PostgresResealer
from turnkeeper.infrastructure.postgres.sealed_tables import SealedTable
from turnkeeper.infrastructure.postgres.tables import provider_keys

pytestmark = pytest.mark.postgres


class Installation:
    """A database whose keys are sealed with version 1, and a vault that seals with version 2."""

    def __init__(self, engine: Engine) -> None:
        self.vault = ForgetfulVault()
        self.keys = PostgresKeyVault(engine, vault=self.vault)
        self.resealer = PostgresResealer(engine, vault=self.vault)
        self._engine = engine

    def add(self, *texts: str, owner: Owner = SERVER) -> list[KeyId]:
        return [self.keys.add(owner, PROVIDER, Secret(text)) for text in texts]

    def rotate(self) -> Rotation:
        return rotate_secrets(self.resealer)

    def audit(self) -> SecretsAudit:
        return audit_secrets(self.resealer)

    def saved(self) -> tuple[SavedKey, ...]:
        return self.keys.keys()

    def versions(self) -> list[int]:
        ordered = select(provider_keys.c.key_version).order_by(provider_keys.c.id)
        with connected(self._engine) as connection:
            return list(connection.scalars(ordered))


@pytest.fixture
def installation(database: Engine) -> Installation:
    return Installation(database)


def seals(version: int, rows: int, *, now: bool = False, known: bool = True) -> SealedBy:
    return SealedBy(version=version, rows=rows, is_current=now, is_known=known)


def a_row(key_id: int, *, owner: Owner = SERVER, version: int = 1) -> SealedRow:
    return SealedRow(kind="key", owner=owner, provider=PROVIDER, id=str(key_id), version=version)


# ── rotating ────────────────────────────────────────────────────────────────────────────────


def test_all_keys_are_moved_to_the_current_master_secret(installation: Installation) -> None:
    installation.add("one", "two")
    installation.add("three", owner=USER)
    installation.vault.turn_over()
    installation.add("four")

    rotation = installation.rotate()

    assert rotation == Rotation(renewed=3, shut=(), versions=(seals(1, 0), seals(2, 4, now=True)))
    assert (rotation.is_whole, rotation.removable) == (True, (1,))
    assert installation.versions() == [2, 2, 2, 2]
    assert all(saved.opens for saved in installation.saved())
    assert installation.rotate().renewed == 0


def test_a_resealed_key_is_the_same_key(installation: Installation) -> None:
    installation.add("one")
    (before,) = installation.saved()
    installation.vault.turn_over()

    installation.rotate()

    fingerprint = installation.vault.fingerprint(Secret("one")).hex()
    assert installation.saved() == (replace(before, fingerprint=fingerprint),)
    with pytest.raises(StoreError, match="already saved"):
        installation.add("one")


def test_keys_that_do_not_open_stay_and_hold_nobody_up(installation: Installation) -> None:
    _, second, _ = installation.add("one", "two", "three")
    installation.vault.forget("two")
    installation.vault.turn_over()

    rotation = installation.rotate()

    assert (rotation.renewed, rotation.shut) == (2, (a_row(second),))
    assert (rotation.is_whole, rotation.removable) == (False, ())
    assert installation.versions() == [2, 1, 2]


def test_more_keys_than_a_page_are_all_moved_and_each_page_is_told(
    installation: Installation,
) -> None:
    keys = PAGE_ROWS + 5
    for number in range(keys):
        installation.add("key", owner=Owner.user(str(number)))
    installation.vault.turn_over()
    told: list[tuple[int, int]] = []

    rotation = rotate_secrets(installation.resealer, lambda *done: told.append(done))

    assert rotation.renewed == keys
    assert told == [(PAGE_ROWS, keys), (keys, keys)]


def test_several_may_rotate_at_once(installation: Installation) -> None:
    installation.add(*map(str, range(20)))
    installation.vault.turn_over()

    rotations = at_once(4, lambda _: installation.rotate())

    assert sum(rotation.renewed for rotation in rotations) == 20
    assert installation.versions() == [2] * 20


def test_what_others_seal_with_the_old_secret_meanwhile_is_moved_too(
    installation: Installation,
) -> None:
    installation.add("one")
    installation.vault.turn_over()
    late = count()

    def told(done: int, total: int) -> None:
        if next(late) == 0:
            installation.vault.turn_back()
            installation.add("late")
            installation.vault.turn_over()

    assert rotate_secrets(installation.resealer, told).is_whole
    assert installation.versions() == [2, 2]


def test_equal_keys_that_differ_in_version_are_both_moved(installation: Installation) -> None:
    first, second = equal_keys(installation)

    assert installation.rotate().is_whole
    assert all(saved.opens for saved in installation.saved())
    assert installation.audit().twins == ((a_row(first, version=2), a_row(second, version=2)),)


def equal_keys(installation: Installation) -> tuple[KeyId, KeyId]:
    """The same key, added by a process that knows only the first version and one that does not."""
    (first,) = installation.add("one")
    installation.vault.forget_version(1)
    (second,) = installation.add("one")
    installation.vault.remember_version(1)
    return first, second


# ── looking ─────────────────────────────────────────────────────────────────────────────────


def test_an_audit_says_what_each_version_seals(installation: Installation) -> None:
    installation.add("one", "two")
    installation.vault.turn_over()
    installation.add("three", owner=USER)

    found = installation.audit()

    assert found == SecretsAudit(versions=(seals(1, 2), seals(2, 1, now=True)))
    assert found.removable == found.missing == ()


def test_a_version_that_nothing_needs_may_be_removed(installation: Installation) -> None:
    installation.vault.turn_over()
    installation.add("one")

    assert installation.audit().removable == (1,)


def test_a_secret_that_was_not_given_is_missing_and_its_keys_are_named(
    installation: Installation,
) -> None:
    (first,) = installation.add("one")
    installation.vault.forget_version(1)

    found = installation.audit()

    assert found.versions == (seals(1, 1, known=False), seals(2, 0, now=True))
    assert (found.missing, found.shut) == ((1,), (a_row(first),))


def test_the_same_key_of_two_owners_is_no_double(installation: Installation) -> None:
    installation.add("one")
    installation.add("one", owner=USER)

    assert installation.audit().twins == ()


def test_an_audit_changes_nothing(installation: Installation) -> None:
    installation.add("one")
    installation.vault.turn_over()
    before = installation.saved()

    installation.audit()

    assert installation.saved() == before
    assert installation.versions() == [1]


# ── other tables ────────────────────────────────────────────────────────────────────────────


TOKENS = Table(
    "tokens",
    MetaData(),
    Column("owner", Text, primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("sealed", LargeBinary),
    Column("key_version", Integer),
)


@pytest.fixture
def tokens(database: Engine) -> SealedTable:
    TOKENS.create(database)
    return SealedTable(kind="token", table=TOKENS, id="channel", provider="discord")


def test_any_table_of_sealed_rows_is_moved(database: Engine, tokens: SealedTable) -> None:
    vault = ForgetfulVault()
    sealed = vault.seal(Secret("t0ken"), owner=SERVER, provider="discord", row="c1")
    row = {"owner": str(SERVER), "channel": "c1"}
    with connected(database) as connection:
        made = insert(TOKENS).values(row | {"sealed": sealed.data, "key_version": 1})
        connection.execute(made)
    vault.turn_over()
    resealer = PostgresResealer(database, vault=vault, tables=(tokens,))

    assert rotate_secrets(resealer).is_whole
    assert audit_secrets(resealer) == SecretsAudit(versions=(seals(1, 0), seals(2, 1, now=True)))
