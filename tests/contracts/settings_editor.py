"""What every editor of settings writes."""

from dataclasses import replace

import pytest
from builders import SERVER, USER, a_model, an_endpoint
from contracts.keys import at_once
from contracts.settings import ALPHA, BETA, SAMPLING, Settings, ref

from turnkeeper.application.ports.settings_editor import WholeOwner
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, ModelEntry
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings


class SettingsEditorContract:
    """Subclass as Test… and give a `settings` fixture."""

    @pytest.fixture
    def settings(self) -> Settings:
        raise NotImplementedError

    def test_an_endpoint_gets_a_number_and_keeps_the_rest(self, settings: Settings) -> None:
        given = Endpoint(
            id=0,
            connection_id=None,
            label="home",
            base_url="https://home.example/v1",
            model_name="llama",
            model_id="wall:alpha",
            requires_auth=False,
            trusted=True,
            num_ctx=8192,
            capabilities=Capabilities(tools=False, images=True, strict_role_alternation=True),
        )

        saved = settings.editor.save_endpoint(USER, given)

        assert saved.id > 0
        assert saved == replace(given, id=saved.id)
        assert settings.editor.endpoints(USER) == (saved,)
        assert settings.editor.endpoints(SERVER) == ()

    def test_endpoints_are_listed_by_number_and_replaced_by_it(self, settings: Settings) -> None:
        first = settings.editor.save_endpoint(SERVER, an_endpoint(0, label="first"))
        second = settings.editor.save_endpoint(SERVER, an_endpoint(0, label="second"))

        renamed = settings.editor.save_endpoint(SERVER, replace(first, label="renamed"))

        assert renamed == replace(first, label="renamed")
        assert settings.editor.endpoints(SERVER) == (renamed, second)

    def test_an_endpoint_that_is_not_there_is_not_replaced(self, settings: Settings) -> None:
        theirs = settings.editor.save_endpoint(USER, an_endpoint(0))

        with pytest.raises(StoreError) as refusal:
            settings.editor.save_endpoint(SERVER, theirs)

        assert str(refusal.value) == (
            f"server:guild has no endpoint {theirs.id} to replace: add it with the id 0"
        )
        assert settings.editor.endpoints(USER) == (theirs,)
        assert settings.store.server("guild").version == 0

    def test_a_removed_endpoint_is_gone_and_its_number_is_not_given_again(
        self, settings: Settings
    ) -> None:
        mine = settings.editor.save_endpoint(SERVER, an_endpoint(0))

        assert settings.editor.remove_endpoint(SERVER, mine.id)
        assert not settings.editor.remove_endpoint(SERVER, mine.id)
        assert settings.editor.endpoints(SERVER) == ()
        assert settings.editor.save_endpoint(SERVER, an_endpoint(0)).id > mine.id

    def test_nobody_removes_the_endpoints_of_others(self, settings: Settings) -> None:
        mine = settings.editor.save_endpoint(SERVER, an_endpoint(0))

        assert not settings.editor.remove_endpoint(Owner.user("guild"), mine.id)
        assert settings.editor.endpoints(SERVER) == (mine,)

    def test_a_model_is_read_as_it_was_registered(self, settings: Settings) -> None:
        model = Model(
            id="own-id",
            provider="wall",
            name="alpha/1:free",
            capabilities=Capabilities(images=True, reasoning=True, verbatim_tool_calling=True),
            limits=Limits(window_tokens=1_000_000, max_output_tokens=65_536),
            price_in_per_mtok=0.15,
            price_out_per_mtok=0.0,
        )

        settings.register(model)

        assert settings.editor.models() == (model,)
        assert settings.store.find_model("own-id") == model

    def test_models_are_listed_by_id_and_replaced_by_it(self, settings: Settings) -> None:
        newer = replace(ALPHA, name="alpha-2", limits=Limits(window_tokens=4096))
        upper = replace(ALPHA, id="Wall:Z")

        settings.register(BETA, ALPHA, upper, newer)

        assert settings.editor.models() == (upper, newer, BETA)

    def test_a_model_is_found_by_its_id_and_by_its_name(self, settings: Settings) -> None:
        settings.register(ALPHA, BETA)

        assert settings.store.find_model("wall:alpha") == ALPHA
        assert settings.store.find_model("beta") == BETA
        assert settings.store.find_model("gamma") is None

    def test_a_name_of_several_models_finds_none(self, settings: Settings) -> None:
        settings.register(ALPHA, a_model("alpha", provider="other"))

        assert settings.store.find_model("alpha") is None

    def test_an_id_is_found_before_the_same_name(self, settings: Settings) -> None:
        settings.register(replace(BETA, id="alpha"), ALPHA)

        assert settings.store.find_model("alpha") == replace(BETA, id="alpha")

    def test_a_removed_model_leaves_its_references_broken(self, settings: Settings) -> None:
        settings.register(ALPHA, BETA)
        before = settings.save_server(ServerSettings(server_id="guild"), primary=ref(ALPHA))

        assert settings.editor.remove_model(ALPHA.id)
        assert not settings.editor.remove_model(ALPHA.id)

        read = settings.store.server("guild")
        assert settings.editor.models() == (BETA,)
        assert isinstance(read.primary, BrokenEntry)
        assert read.version == before.version + 1

    def test_all_that_set_something_are_listed(self, settings: Settings) -> None:
        settings.save_personal(PersonalSettings(user_id="zoe"))
        settings.save_server(ServerSettings(server_id="guild"))
        settings.editor.save_endpoint(USER, an_endpoint(0))

        settings.save_server(ServerSettings(server_id="away"), ref(ALPHA))

        away = Owner.server("away")
        assert settings.editor.owners() == (away, SERVER, USER, Owner.user("zoe"))
        assert settings.editor.owners(using=ALPHA.id) == (away,)

    def test_an_owner_is_replaced_whole(self, settings: Settings) -> None:
        gone = settings.editor.save_endpoint(SERVER, an_endpoint(0, label="gone"))
        kept = settings.editor.save_endpoint(SERVER, an_endpoint(0, label="kept"))
        before = settings.save_server(ServerSettings(server_id="guild"), ref(gone))
        new = an_endpoint(settings.editor.new_endpoint_id(), label="new")
        renamed = replace(kept, label="renamed")
        providers = (SavedProvider(provider="wall", sampling=SAMPLING),)

        settings.editor.replace_owner(
            WholeOwner(
                settings=replace(before, randomizer=True, providers=providers),
                primary=ref(ALPHA),
                chain=(ref(new),),
                endpoints=(renamed, new),
                models=(ALPHA,),
            )
        )

        read = settings.store.server("guild")
        assert settings.editor.endpoints(SERVER) == (renamed, new)
        assert read == ServerSettings(
            server_id="guild",
            version=read.version,
            primary=ModelEntry(model=ALPHA),
            chain=(EndpointEntry(endpoint=new, owner=SERVER),),
            randomizer=True,
            providers=providers,
        )
        assert read.version > before.version

    def test_a_user_is_replaced_whole(self, settings: Settings) -> None:
        row = SavedProvider(provider="wall", model=ALPHA, text_enabled=True)
        whole = PersonalSettings(user_id="ann", providers=(row,), server_fallback=False)

        settings.editor.replace_owner(WholeOwner(settings=whole, models=(ALPHA,)))

        read = settings.store.personal("ann")
        assert read == replace(whole, version=read.version)

    def test_owners_with_the_same_new_models_are_replaced_at_once(self, settings: Settings) -> None:
        models = tuple(a_model(f"m{number:02}") for number in range(20))
        orders = (models, models[::-1]) * 2

        def replaced(number: int) -> None:
            for again in range(3):
                priced = (replace(one, price_in_per_mtok=float(again)) for one in orders[number])
                whole = ServerSettings(server_id=f"guild-{number}", randomizer=True)
                settings.editor.replace_owner(WholeOwner(settings=whole, models=tuple(priced)))

        at_once(len(orders), replaced)

        assert len(settings.editor.models()) == len(models)
        assert all(settings.store.server(f"guild-{n}").randomizer for n in range(len(orders)))

    def test_an_owner_that_changed_meanwhile_is_not_replaced(self, settings: Settings) -> None:
        read = settings.save_server(ServerSettings(server_id="guild"))
        settings.save_server(replace(read, randomizer=True))
        whole = WholeOwner(settings=read, endpoints=(an_endpoint(77),), models=(ALPHA,))

        with pytest.raises(StoreError, match="were changed meanwhile"):
            settings.editor.replace_owner(whole)

        assert settings.store.server("guild").randomizer
        assert settings.editor.endpoints(SERVER) == ()
        assert settings.editor.models() == ()
