"""When the version of an owner's settings rises."""

from dataclasses import replace

import pytest
from builders import SERVER, an_endpoint
from contracts.settings import ALPHA, BETA, Settings, ref

from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.model import Limits
from turnkeeper.domain.settings import (
    PersonalSettings,
    SavedProvider,
    ServerSettings,
)


class SettingsVersionsContract:
    """Subclass as Test… and give a `settings` fixture."""

    @pytest.fixture
    def settings(self) -> Settings:
        raise NotImplementedError

    def test_the_version_rises_with_each_change_of_the_owners(self, settings: Settings) -> None:
        settings.register(ALPHA)
        versions = [settings.store.server("guild").version]

        def changed() -> None:
            versions.append(settings.store.server("guild").version)

        settings.save_server(ServerSettings(server_id="guild"), primary=ref(ALPHA))
        changed()
        settings.save_server(ServerSettings(server_id="guild"), primary=ref(ALPHA))
        changed()
        mine = settings.editor.save_endpoint(SERVER, an_endpoint(0))
        changed()
        settings.editor.save_endpoint(SERVER, replace(mine, label="other"))
        changed()
        settings.editor.remove_endpoint(SERVER, mine.id)
        changed()

        assert versions == [0, 1, 2, 3, 4, 5]

    def test_the_version_stays_when_nothing_of_the_owners_changes(self, settings: Settings) -> None:
        settings.register(ALPHA)
        settings.save_server(ServerSettings(server_id="guild"), primary=ref(ALPHA))

        settings.register(ALPHA, BETA)
        settings.save_server(ServerSettings(server_id="other"), primary=ref(ALPHA))
        settings.save_personal(PersonalSettings(user_id="guild"))
        settings.editor.remove_endpoint(SERVER, 7)

        assert settings.store.server("guild").version == 1

    @pytest.mark.parametrize("place", ["primary", "chain", "persona", "channel", "provider"])
    def test_the_version_rises_when_a_model_changes_that_the_owner_uses(
        self, settings: Settings, place: str
    ) -> None:
        settings.register(ALPHA)
        pairs = (("zoe", ALPHA),)
        before = settings.save_server(
            ServerSettings(
                server_id="guild",
                persona_models=pairs if place == "persona" else (),
                channel_models=pairs if place == "channel" else (),
                providers=(SavedProvider(provider="wall", model=ALPHA),)
                if place == "provider"
                else (),
            ),
            *((ref(ALPHA),) if place == "chain" else ()),
            primary=ref(ALPHA) if place == "primary" else None,
        )

        settings.register(replace(ALPHA, limits=Limits(window_tokens=4096)))

        assert settings.store.server("guild").version == before.version + 1

    def test_a_change_that_was_derived_from_old_settings_is_refused(
        self, settings: Settings
    ) -> None:
        old = settings.save_server(ServerSettings(server_id="guild"))
        new = settings.save_server(replace(old, randomizer=True))

        with pytest.raises(StoreError) as refusal:
            settings.save_server(replace(old, member_keys_only=True))

        assert str(refusal.value) == (
            "the settings of server:guild were changed meanwhile, from version 1 to 2:"
            " read them again and repeat the change"
        )
        assert settings.store.server("guild") == new

    def test_a_users_change_that_was_derived_from_old_settings_is_refused(
        self, settings: Settings
    ) -> None:
        old = settings.save_personal(PersonalSettings(user_id="ann"))
        new = settings.save_personal(replace(old, server_fallback=False))

        with pytest.raises(StoreError, match="changed meanwhile"):
            settings.save_personal(replace(old, providers=(SavedProvider(provider="wall"),)))

        assert settings.store.personal("ann") == new
