import pytest
from contracts.settings import Settings
from contracts.settings_editor import SettingsEditorContract
from contracts.settings_store import SettingsStoreContract
from contracts.settings_versions import SettingsVersionsContract
from sqlalchemy import Engine

from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor
from turnkeeper.infrastructure.postgres.settings_store import PostgresSettingsStore

pytestmark = pytest.mark.postgres


class InPostgres:
    @pytest.fixture
    def settings(self, database: Engine) -> Settings:
        return Settings(
            store=PostgresSettingsStore(database), editor=PostgresSettingsEditor(database)
        )


class TestPostgresSettingsStore(InPostgres, SettingsStoreContract):
    pass


class TestPostgresSettingsEditor(InPostgres, SettingsEditorContract):
    pass


class TestPostgresSettingsVersions(InPostgres, SettingsVersionsContract):
    pass
