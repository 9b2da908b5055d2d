"""What every store of settings reads."""

from dataclasses import replace

import pytest
from builders import SERVER, USER, an_endpoint
from contracts.settings import ALPHA, BETA, GAMMA, SAMPLING, Settings, ref

from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.model import Sampling
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import (
    FallbackRef,
    PersonalSettings,
    SavedProvider,
    ServerSettings,
)


class SettingsStoreContract:
    """Subclass as Test… and give a `settings` fixture."""

    @pytest.fixture
    def settings(self) -> Settings:
        raise NotImplementedError

    def test_a_server_that_set_nothing_has_the_defaults(self, settings: Settings) -> None:
        assert settings.store.server("guild") == ServerSettings(server_id="guild")

    def test_a_server_reads_all_that_it_saved(self, settings: Settings) -> None:
        settings.register(ALPHA, BETA, GAMMA)
        mine = settings.editor.save_endpoint(SERVER, an_endpoint(0))
        saved = ServerSettings(
            server_id="guild",
            randomizer=True,
            member_keys_only=True,
            content_filter=ContentFilterPolicy.STOP,
            sampling=SAMPLING,
            cooldown=CooldownRule(type=CooldownType.STRICT, length_s=86_400),
            quota=QuotaRule(enabled=True, daily_per_user=3, server_wide=99, period_days=7),
            persona_models=(("zoe", ALPHA), ("abe", BETA)),
            channel_models=(("9", GAMMA),),
            channel_cooldowns=(
                ("9", CooldownRule(type=CooldownType.PER_CHANNEL, length_s=1)),
                ("10", CooldownRule()),
            ),
            providers=(
                SavedProvider(provider="other", sampling=Sampling(top_k=3)),
                SavedProvider(provider="wall"),
            ),
            tools_off=("search", "weather"),
        )

        read = settings.save_server(saved, ref(mine), ref(BETA), primary=ref(ALPHA))

        assert read == replace(
            saved,
            version=read.version,
            primary=ModelEntry(model=ALPHA),
            chain=(EndpointEntry(endpoint=mine, owner=SERVER), ModelEntry(model=BETA)),
        )

    def test_a_server_may_have_an_endpoint_for_its_primary(self, settings: Settings) -> None:
        mine = settings.editor.save_endpoint(SERVER, an_endpoint(0))

        read = settings.save_server(ServerSettings(server_id="guild"), primary=ref(mine))

        assert read.primary == EndpointEntry(endpoint=mine, owner=SERVER)

    def test_saving_replaces_all_that_was_saved(self, settings: Settings) -> None:
        settings.register(ALPHA)
        before = ServerSettings(
            server_id="guild",
            randomizer=True,
            persona_models=(("zoe", ALPHA),),
            providers=(SavedProvider(provider="wall", sampling=SAMPLING),),
        )
        settings.save_server(before, ref(ALPHA), primary=ref(ALPHA))

        read = settings.save_server(ServerSettings(server_id="guild"))

        assert replace(read, version=0) == ServerSettings(server_id="guild")

    def test_servers_do_not_share_settings(self, settings: Settings) -> None:
        settings.save_server(ServerSettings(server_id="guild", randomizer=True))

        assert settings.store.server("other") == ServerSettings(server_id="other")
        assert settings.store.personal("guild") == PersonalSettings(user_id="guild")

    def test_references_that_lead_nowhere_stay_in_their_place(self, settings: Settings) -> None:
        settings.register(BETA)
        gone = an_endpoint(77)
        odd = FallbackRef(kind="custom_endpoint", id="seven")

        read = settings.save_server(
            ServerSettings(server_id="guild"), ref(gone), ref(BETA), odd, primary=ref(ALPHA)
        )

        assert read.primary == BrokenEntry(name="wall:alpha", cause="no such model is known")
        assert read.chain == (
            BrokenEntry(name="endpoint:77", cause="server:guild has no such endpoint"),
            ModelEntry(model=BETA),
            BrokenEntry(name="endpoint:seven", cause="server:guild has no such endpoint"),
        )

    def test_a_reference_does_not_lead_to_the_endpoint_of_another_owner(
        self, settings: Settings
    ) -> None:
        theirs = settings.editor.save_endpoint(USER, an_endpoint(0))

        read = settings.save_server(ServerSettings(server_id="guild"), ref(theirs))

        assert [type(entry) for entry in read.chain] == [BrokenEntry]

    def test_personas_and_channels_without_their_model_are_left_to_the_server(
        self, settings: Settings
    ) -> None:
        settings.register(ALPHA)

        read = settings.save_server(
            ServerSettings(
                server_id="guild",
                persona_models=(("zoe", BETA), ("abe", ALPHA)),
                channel_models=(("9", BETA),),
            )
        )

        assert read.persona_models == (("abe", ALPHA),)
        assert read.channel_models == ()

    def test_a_reference_finds_a_model_that_is_registered_later(self, settings: Settings) -> None:
        broken = settings.save_server(ServerSettings(server_id="guild"), ref(ALPHA))

        settings.register(ALPHA)

        read = settings.store.server("guild")
        assert read.chain == (ModelEntry(model=ALPHA),)
        assert read.version > broken.version

    def test_a_user_who_set_nothing_has_the_defaults(self, settings: Settings) -> None:
        assert settings.store.personal("ann") == PersonalSettings(user_id="ann")

    def test_a_user_reads_all_that_was_saved(self, settings: Settings) -> None:
        settings.register(ALPHA, BETA)
        mine = settings.editor.save_endpoint(USER, an_endpoint(0, connection_id=4))
        saved = PersonalSettings(
            user_id="ann",
            providers=(
                SavedProvider(provider="custom:4", model=BETA, endpoint=mine, text_enabled=True),
                SavedProvider(provider="wall", model=ALPHA, sampling=SAMPLING, randomizer=True),
            ),
            server_fallback=False,
        )

        read = settings.save_personal(saved, ref(BETA), ref(mine))

        assert read == replace(
            saved,
            version=read.version,
            chain=(ModelEntry(model=BETA), EndpointEntry(endpoint=mine, owner=USER)),
        )

    def test_a_users_providers_are_read_by_name(self, settings: Settings) -> None:
        names = ("wall", "custom:10", "B", "custom:9", "a-b", "ab")
        rows = tuple(SavedProvider(provider=name) for name in names)

        read = settings.save_personal(PersonalSettings(user_id="ann", providers=rows))

        assert [row.provider for row in read.providers] == sorted(names)

    def test_a_row_whose_model_or_endpoint_is_gone_has_none(self, settings: Settings) -> None:
        mine = settings.editor.save_endpoint(USER, an_endpoint(0))
        row = SavedProvider(provider="custom:1", model=ALPHA, endpoint=mine, text_enabled=True)
        settings.save_personal(PersonalSettings(user_id="ann", providers=(row,)))
        settings.editor.remove_endpoint(USER, mine.id)

        read = settings.store.personal("ann")

        assert read.providers == (SavedProvider(provider="custom:1", text_enabled=True),)
        assert read.text_route is None
