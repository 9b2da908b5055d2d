from typing import ClassVar

import pytest
from contracts.owner_isolation import OwnerIsolationContract, Shared
from fakes import FrozenClock
from forgetful_vault import ForgetfulVault
from sqlalchemy import Engine

from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.postgres.key_ring import PostgresKeyRing
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor
from turnkeeper.infrastructure.postgres.settings_store import PostgresSettingsStore
from turnkeeper.infrastructure.vault import AesGcmVault


class TestMemoryOwnerIsolation(OwnerIsolationContract):
    examples: ClassVar[int] = 300

    @pytest.fixture
    def shared(self) -> Shared:
        ring = MemoryKeyRing(vault=ForgetfulVault(), clock=FrozenClock())
        settings = MemorySettingsStore()
        return Shared(ring=ring, keys=ring, editor=settings, store=settings)


@pytest.mark.postgres
class TestPostgresOwnerIsolation(OwnerIsolationContract):
    examples: ClassVar[int] = 40

    @pytest.fixture
    def shared(self, database: Engine, vault: AesGcmVault) -> Shared:
        return Shared(
            ring=PostgresKeyRing(database, vault=vault),
            keys=PostgresKeyVault(database, vault=vault),
            editor=PostgresSettingsEditor(database),
            store=PostgresSettingsStore(database),
        )
