from dataclasses import replace

import pytest
from builders import SERVER, USER, a_model, an_endpoint
from fakes import FrozenClock, OneProvider, ScriptedProvider

from turnkeeper.application.configure import Configure
from turnkeeper.application.configure_models import ConfigurePorts
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.portable import written
from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Endpoint, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import FallbackRef, PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.vault import AesGcmVault

ALPHA, BETA, GAMMA = (a_model(name) for name in ("alpha", "beta", "gamma"))


@pytest.fixture
def store() -> MemorySettingsStore:
    return MemorySettingsStore()


@pytest.fixture
def configure(store: MemorySettingsStore, vault: AesGcmVault) -> Configure:
    made = Configure(
        ConfigurePorts(
            store=store,
            editor=store,
            keys=MemoryKeyRing(vault=vault, clock=FrozenClock()),
            providers=OneProvider(ScriptedProvider()),
            known=KnownSettings(store),
        )
    )
    for model in (ALPHA, BETA, GAMMA):
        made.register_model(model)
    return made


def chain(settings: ServerSettings | PersonalSettings) -> list[str]:
    return [written(entry) for entry in settings.chain]


@pytest.mark.parametrize("owner", [SERVER, USER], ids=str)
def test_a_fallback_is_added_moved_and_removed(configure: Configure, owner: Owner) -> None:
    configure.add_fallback(owner, "alpha")
    configure.add_fallback(owner, "beta")

    assert chain(configure.add_fallback(owner, "gamma", 1)) == [GAMMA.id, ALPHA.id, BETA.id]
    assert chain(configure.add_fallback(owner, "gamma", 2)) == [ALPHA.id, GAMMA.id, BETA.id]
    assert chain(configure.add_fallback(owner, "alpha")) == [GAMMA.id, BETA.id, ALPHA.id]
    assert chain(configure.remove_fallback(owner, "beta")) == [GAMMA.id, ALPHA.id]
    assert chain(configure.remove_fallback(owner, ALPHA.id)) == [GAMMA.id]


@pytest.mark.parametrize("owner", [SERVER, USER], ids=str)
def test_the_primary_model_is_not_added_to_its_own_chain(
    configure: Configure, owner: Owner
) -> None:
    use = configure.use_model if owner == SERVER else configure.use_personal_model
    use(owner.id, "alpha")

    with pytest.raises(SettingsError) as refused:
        configure.add_fallback(owner, "alpha")

    assert str(refused.value) == (
        f"wall:alpha is the primary model of {owner} and cannot be its own fallback"
    )


def test_a_broken_fallback_is_removed_by_its_name(
    configure: Configure, store: MemorySettingsStore
) -> None:
    refs = (FallbackRef(kind="model", id="gone:m"), FallbackRef(kind="custom_endpoint", id="7"))
    store.save_server(ServerSettings(server_id=SERVER.id), primary=None, chain=refs)

    configure.remove_fallback(SERVER, "gone:m")
    left = configure.remove_fallback(SERVER, "endpoint:7")

    assert chain(left) == []


def test_what_is_no_fallback_is_not_removed(configure: Configure) -> None:
    configure.add_fallback(SERVER, "alpha")

    with pytest.raises(SettingsError, match="has no fallback 'beta'; there are: wall:alpha"):
        configure.remove_fallback(SERVER, "beta")


def test_a_server_without_a_primary_model_draws_nothing(configure: Configure) -> None:
    configure.use_model(SERVER.id, "alpha")
    configure.add_fallback(SERVER, "beta")
    configure.randomize(SERVER.id, True)

    cleared = configure.clear_model(SERVER.id)

    assert (cleared.primary, cleared.randomizer, chain(cleared)) == (None, False, [BETA.id])


def test_several_rules_are_one_change(configure: Configure) -> None:
    configure.set_sampling(SERVER.id, Sampling(top_k=3))
    before = configure.server(SERVER.id)

    after = configure.set_rules(
        SERVER.id,
        member_keys_only=True,
        content_filter=ContentFilterPolicy.STOP,
        sampling=lambda now: replace(now, temperature=1.0),
    )

    assert after == replace(
        before,
        version=before.version + 1,
        member_keys_only=True,
        content_filter=ContentFilterPolicy.STOP,
        sampling=Sampling(top_k=3, temperature=1.0),
    )


def test_rules_with_one_that_makes_no_sense_change_nothing(configure: Configure) -> None:
    before = configure.server(SERVER.id)

    with pytest.raises(SettingsError, match="top_p is 0 to 1, not 2"):
        configure.set_rules(SERVER.id, member_keys_only=True, sampling=lambda _: Sampling(top_p=2))

    assert configure.server(SERVER.id) == before


def test_a_channel_is_one_change_and_keeps_what_is_not_given(configure: Configure) -> None:
    rule = CooldownRule(type=CooldownType.STRICT)
    configure.set_channel_model(SERVER.id, "7", "alpha")

    changed = configure.set_channel(SERVER.id, "7", model=None, cooldown=rule)

    assert (changed.channel_models, changed.channel_cooldowns) == (
        (("7", ALPHA),),
        (("7", rule),),
    )


def test_a_user_chooses_a_model_and_keeps_what_its_provider_has_set(configure: Configure) -> None:
    configure.set_personal_sampling(USER.id, "wall", Sampling(top_k=3))
    configure.add_fallback(USER, "beta")

    chosen = configure.use_personal_model(USER.id, "beta")

    row = SavedProvider(provider="wall", model=BETA, text_enabled=True, sampling=Sampling(top_k=3))
    assert (chosen.providers, chosen.chain) == ((row,), ())


def test_a_user_chooses_an_endpoint(configure: Configure) -> None:
    mine = configure.save_endpoint(USER, an_endpoint(0, connection_id=4))
    configure.use_personal_model(USER.id, "alpha")

    chosen = configure.use_personal_model(USER.id, f"endpoint:{mine.id}")

    assert chosen.text_route == SavedProvider(provider="custom:4", endpoint=mine, text_enabled=True)


def test_a_users_randomizer_needs_a_fallback_and_a_row(configure: Configure) -> None:
    with pytest.raises(SettingsError, match="no fallback to draw from"):
        configure.randomize_personal(USER.id, True)
    configure.add_fallback(USER, "beta")
    with pytest.raises(SettingsError, match="no provider pays for the turns of user ann"):
        configure.randomize_personal(USER.id, True)
    configure.use_personal_model(USER.id, "alpha")

    on = configure.randomize_personal(USER.id, True)
    off = configure.randomize_personal(USER.id, False, "wall")

    assert [row.randomizer for row in (*on.providers, *off.providers)] == [True, False]


def test_a_user_who_is_reset_has_set_nothing(configure: Configure) -> None:
    configure.use_personal_model(USER.id, "alpha")
    configure.allow_server_fallback(USER.id, False)

    reset = configure.reset_user(USER.id)

    assert reset == PersonalSettings(user_id=USER.id, version=reset.version)


def test_what_is_set_for_a_provider_is_forgotten(configure: Configure) -> None:
    configure.set_sampling(SERVER.id, Sampling(top_k=3), "wall")

    assert configure.remove_server_provider(SERVER.id, "wall").providers == ()
    with pytest.raises(SettingsError, match="has nothing set for 'wall'; set: none"):
        configure.remove_server_provider(SERVER.id, "wall")


def test_a_model_that_somebody_uses_is_not_forgotten(configure: Configure) -> None:
    configure.use_model(SERVER.id, "alpha")
    configure.set_channel_model(SERVER.id, "7", "beta")
    configure.add_fallback(USER, "beta")

    with pytest.raises(SettingsError) as refused:
        configure.remove_model("beta")
    configure.remove_model("gamma")

    assert str(refused.value) == (
        "wall:beta is used by server:guild, user:ann; set other models there first"
    )
    assert configure.models() == (ALPHA, BETA)


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (an_endpoint(0, connection_id=0), "connection_id of an endpoint is at least 1, not 0"),
        (replace(an_endpoint(0), num_ctx=-1), "num_ctx of an endpoint is at least 1, not -1"),
        (an_endpoint(0, label=" "), "the label of an endpoint is its name, not ' '"),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(
    configure: Configure, endpoint: Endpoint, said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        configure.save_endpoint(SERVER, endpoint)

    assert str(refused.value) == said


@pytest.mark.parametrize(
    "url",
    ["https://ann:pw@host/v1", "https://host/v1?key=pw", "https://host/v1#pw", "https:///v1"],
)
def test_an_address_with_a_secret_in_it_is_refused_and_not_shown(
    configure: Configure, url: str
) -> None:
    with pytest.raises(SettingsError, match="the address of an endpoint") as refused:
        configure.save_endpoint(SERVER, an_endpoint(0, base_url=url))

    assert "pw" not in str(refused.value).replace("password", "")
