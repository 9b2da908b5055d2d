from dataclasses import replace

import pytest
from builders import SERVER, USER
from contracts.keys import PROVIDER, at_once
from forgetful_vault import ForgetfulVault
from sqlalchemy import Engine, select

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.application.ports.resealer import Resealed
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.resealer import PAGE_ROWS, PostgresResealer
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

    def saved(self) -> tuple[SavedKey, ...]:
        return self.keys.keys()

    def versions(self) -> list[int]:
        ordered = select(provider_keys.c.key_version).order_by(provider_keys.c.id)
        with connected(self._engine) as connection:
            return list(connection.scalars(ordered))


@pytest.fixture
def installation(database: Engine) -> Installation:
    return Installation(database)


def test_all_keys_are_moved_to_the_current_master_secret(installation: Installation) -> None:
    installation.add("one", "two")
    installation.add("three", owner=USER)
    installation.vault.turn_over()
    installation.add("four")

    assert installation.resealer.reseal() == Resealed(renewed=3)

    assert installation.versions() == [2, 2, 2, 2]
    assert all(saved.opens for saved in installation.saved())
    assert installation.resealer.reseal() == Resealed(renewed=0)


def test_a_resealed_key_is_the_same_key(installation: Installation) -> None:
    installation.add("one")
    (before,) = installation.saved()
    installation.vault.turn_over()

    installation.resealer.reseal()

    fingerprint = installation.vault.fingerprint(Secret("one")).hex()
    assert installation.saved() == (replace(before, fingerprint=fingerprint),)
    with pytest.raises(StoreError, match="already saved"):
        installation.add("one")


def test_keys_that_do_not_open_stay_and_hold_nobody_up(installation: Installation) -> None:
    _, second, _ = installation.add("one", "two", "three")
    installation.vault.forget("two")
    installation.vault.turn_over()

    assert installation.resealer.reseal() == Resealed(renewed=2, shut=(second,))
    assert installation.versions() == [2, 1, 2]


def test_more_keys_than_a_page_are_all_moved(installation: Installation) -> None:
    count = PAGE_ROWS + 5
    for number in range(count):
        installation.add("key", owner=Owner.user(str(number)))
    installation.vault.turn_over()

    assert installation.resealer.reseal() == Resealed(renewed=count)


def test_several_may_reseal_at_once(installation: Installation) -> None:
    installation.add(*map(str, range(20)))
    installation.vault.turn_over()

    reports = at_once(4, lambda _: installation.resealer.reseal())

    assert sum(report.renewed for report in reports) == 20
    assert installation.versions() == [2] * 20
