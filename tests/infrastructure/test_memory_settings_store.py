import pytest
from contracts.settings import Settings
from contracts.settings_editor import SettingsEditorContract
from contracts.settings_store import SettingsStoreContract
from contracts.settings_versions import SettingsVersionsContract

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
