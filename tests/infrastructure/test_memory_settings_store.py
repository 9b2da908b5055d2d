import pytest
from contracts.settings import Settings
from contracts.settings_editor import SettingsEditorContract
from contracts.settings_store import SettingsStoreContract
from contracts.settings_versions import SettingsVersionsContract

from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore


class InMemory:
    @pytest.fixture
    def settings(self) -> Settings:
        store = MemorySettingsStore()
        return Settings(store=store, editor=store)


class TestMemorySettingsStore(InMemory, SettingsStoreContract):
    pass


class TestMemorySettingsEditor(InMemory, SettingsEditorContract):
    pass


class TestMemorySettingsVersions(InMemory, SettingsVersionsContract):
    pass


def test_a_version_is_known_without_reading_the_settings() -> None:
    store, owner = MemorySettingsStore(), Owner.server("1")
    before = store.version_of(owner)
    store.save_server(ServerSettings(server_id="1"), primary=None, chain=())

    assert (before, store.version_of(owner)) == (0, store.server("1").version)
