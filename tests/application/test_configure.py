import pytest
from builders import SERVER, USER, a_model, an_endpoint
from fakes import FrozenClock, OneProvider, ScriptedProvider

from turnkeeper.application.configure import Configure
from turnkeeper.application.configure_models import ConfigurePorts
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.errors import SettingsError, StoreError
from turnkeeper.domain.model import Limits, Model, Sampling
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.rotation import KeyId
from turnkeeper.domain.settings import FallbackRef, PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.vault import AesGcmVault

CANARY = "sk-canary 0123456789"
NAMES = ("alpha", "beta", "gamma")


class Bench(Configure):
    """Everything configurable, in memory."""

    def __init__(self, vault: AesGcmVault) -> None:
        self.store = MemorySettingsStore()
        self.known = KnownSettings(self.store)
        super().__init__(
            ConfigurePorts(
                store=self.store,
                editor=self.store,
                keys=MemoryKeyRing(vault=vault, clock=FrozenClock()),
                providers=OneProvider(ScriptedProvider()),
                known=self.known,
            )
        )


@pytest.fixture
def configure(vault: AesGcmVault) -> Bench:
    made = Bench(vault)
    for name in NAMES:
        made.register_model(a_model(name))
    return made


def names(entries: tuple[FallbackEntry, ...]) -> list[str]:
    return [entry.model.name for entry in entries if isinstance(entry, ModelEntry)]


# ── keys ────────────────────────────────────────────────────────────────────────────────────


def test_a_pasted_newline_is_no_part_of_the_key(configure: Bench) -> None:
    pasted = configure.add_key(SERVER, "Wall", "\n sk-0123456789abcdef \r\n")

    with pytest.raises(StoreError, match="already saved"):
        configure.add_key(SERVER, "wall", "sk-0123456789abcdef")
    assert (pasted.provider, pasted.hint, pasted.key.is_main) == ("wall", "cdef", True)


def test_a_key_with_inner_white_space_is_refused_and_not_shown(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="the key for wall cannot be used") as refused:
        configure.add_key(SERVER, "wall", CANARY)

    assert CANARY not in str(refused.value)
    assert "0123456789" not in str(refused.value)
    assert configure.saved_keys() == ()


def test_an_empty_key_is_refused(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="must not be empty"):
        configure.add_key(SERVER, "wall", " \n")


def test_a_key_for_an_unknown_provider_is_refused(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="no provider 'nowhere'"):
        configure.add_key(SERVER, "nowhere", "sk-1")


def test_keys_are_removed_and_replaced_by_their_owner_only(configure: Bench) -> None:
    saved = configure.add_key(SERVER, "wall", "sk-0123456789abcdef")

    with pytest.raises(SettingsError, match=f"user:ann has no key {saved.key.id}; there are: none"):
        configure.remove_key(USER, saved.key.id)
    replaced = configure.replace_key(SERVER, saved.key.id, "sk-0123456789abcXYZ")
    configure.remove_key(SERVER, saved.key.id)

    assert replaced.hint == "cXYZ"
    assert configure.saved_keys(SERVER) == ()


def test_a_key_can_sit_out_the_rotation(configure: Bench) -> None:
    saved = configure.add_key(SERVER, "wall", "sk-1")

    assert not configure.enable_key(SERVER, saved.key.id, False).key.enabled
    assert configure.enable_key(SERVER, saved.key.id).key.enabled


def test_a_key_that_is_not_there_is_not_found(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="server:guild has no key 99"):
        configure.enable_key(SERVER, KeyId(99))


# ── models ──────────────────────────────────────────────────────────────────────────────────


def test_a_model_is_registered_by_provider_and_name(configure: Bench) -> None:
    made = configure.register_model("Wall:delta:free")

    assert (made.provider, made.name) == ("wall", "delta:free")
    assert made in configure.models()


def test_registering_again_replaces_what_is_known(configure: Bench) -> None:
    better = Model(id="wall:alpha", provider="wall", name="alpha", limits=Limits(window_tokens=9))
    configure.register_model(better)

    assert configure.find_model("alpha") == better


@pytest.mark.parametrize("text", ["alpha", ":alpha", "wall:"])
def test_a_model_without_provider_or_name_is_refused(configure: Bench, text: str) -> None:
    with pytest.raises(SettingsError, match="written PROVIDER:NAME"):
        configure.register_model(text)


def test_an_unknown_model_is_answered_with_those_of_near_names(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="near are: wall:alpha"):
        configure.use_model("guild", "wall:alhpa")


def test_an_unknown_model_with_nothing_near_says_how_to_register_it(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="turnkeeper model add zzzzzz"):
        configure.use_model("guild", "zzzzzz")


# ── servers ─────────────────────────────────────────────────────────────────────────────────


def test_a_new_server_has_set_nothing(configure: Bench) -> None:
    assert configure.server("guild") == ServerSettings(server_id="guild")


def test_the_chain_keeps_its_order_and_each_model_once(configure: Bench) -> None:
    configure.use_model("guild", "alpha")

    settings = configure.set_fallbacks("guild", ("gamma", "beta", "wall:gamma"))

    assert names(settings.chain) == ["gamma", "beta"]
    assert settings == configure.server("guild")


def test_the_primary_model_is_refused_as_its_own_fallback(configure: Bench) -> None:
    configure.use_model("guild", "alpha")

    with pytest.raises(SettingsError, match="cannot be its own fallback"):
        configure.set_fallbacks("guild", ("beta", "alpha"))
    assert configure.server("guild").chain == ()


def test_an_endpoint_that_stands_for_the_primary_is_refused_as_well(configure: Bench) -> None:
    configure.use_model("guild", "alpha")
    saved = configure.save_endpoint(SERVER, an_endpoint(0, model_id="wall:alpha"))

    with pytest.raises(SettingsError, match="cannot be its own fallback"):
        configure.set_fallbacks("guild", (f"endpoint:{saved.id}",))


def test_promoting_a_model_takes_it_out_of_the_chain(configure: Bench) -> None:
    configure.use_model("guild", "alpha")
    saved = configure.save_endpoint(SERVER, an_endpoint(0, model_id="wall:beta"))
    configure.set_fallbacks("guild", ("beta", f"endpoint:{saved.id}", "gamma"))

    settings = configure.use_model("guild", "beta")

    assert settings.primary == ModelEntry(model=a_model("beta"))
    assert settings.chain == (ModelEntry(model=a_model("gamma")),)


def test_the_randomizer_needs_a_fallback(configure: Bench) -> None:
    configure.use_model("guild", "alpha")

    with pytest.raises(SettingsError, match="no primary model with a fallback"):
        configure.randomize("guild", True)
    configure.set_fallbacks("guild", ("beta",))

    assert configure.randomize("guild", True).randomizer
    assert not configure.randomize("guild", False).randomizer


def test_the_randomizer_goes_off_with_the_last_fallback(configure: Bench) -> None:
    configure.use_model("guild", "alpha")
    configure.set_fallbacks("guild", ("beta",))
    configure.randomize("guild", True)

    settings = configure.clear_fallbacks("guild")

    assert (settings.chain, settings.randomizer) == ((), False)


def test_an_endpoint_may_lead(configure: Bench) -> None:
    saved = configure.save_endpoint(SERVER, an_endpoint(0))

    settings = configure.use_model("guild", f"endpoint:{saved.id}")

    assert settings.primary == EndpointEntry(endpoint=saved, owner=SERVER)


def test_an_endpoint_of_somebody_else_is_not_found(configure: Bench) -> None:
    saved = configure.save_endpoint(USER, an_endpoint(0))

    with pytest.raises(SettingsError, match=f"server:guild has no 'endpoint:{saved.id}'"):
        configure.use_model("guild", f"endpoint:{saved.id}")


def test_an_endpoint_that_is_used_is_not_removed(configure: Bench) -> None:
    saved = configure.save_endpoint(SERVER, an_endpoint(0))
    configure.use_model("guild", f"endpoint:{saved.id}")

    with pytest.raises(SettingsError, match="still uses"):
        configure.remove_endpoint(SERVER, saved.id)
    configure.use_model("guild", "alpha")
    configure.remove_endpoint(SERVER, saved.id)

    assert configure.endpoints(SERVER) == ()


def test_an_address_that_is_none_is_refused(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="begins with https://"):
        configure.save_endpoint(SERVER, an_endpoint(0, base_url="ftp://host"))


def test_a_broken_reference_survives_other_changes(configure: Bench) -> None:
    broken = (
        FallbackRef(kind="model", id="wall:gone"),
        FallbackRef(kind="custom_endpoint", id="99"),
    )
    configure.store.save_server(ServerSettings(server_id="guild"), primary=None, chain=broken)
    before = configure.server("guild").chain
    assert all(isinstance(entry, BrokenEntry) for entry in before)

    configure.set_cooldown("guild", CooldownRule(type=CooldownType.SERVER))

    assert configure.server("guild").chain == before


def test_channels_and_personas_get_models_of_their_own_and_lose_them(configure: Bench) -> None:
    configure.set_channel_model("guild", "c1", "alpha")
    configure.set_channel_model("guild", "c2", "beta")
    configure.set_persona_model("guild", "p1", "gamma")
    settings = configure.set_channel_model("guild", "c1", None)

    assert settings.channel_models == (("c2", a_model("beta")),)
    assert settings.persona_models == (("p1", a_model("gamma")),)


def test_the_rules_of_a_server_are_kept(configure: Bench) -> None:
    cooldown = CooldownRule(type=CooldownType.PER_USER, length_s=9)
    strict = CooldownRule(type=CooldownType.STRICT, length_s=60)
    quota = QuotaRule(enabled=True, daily_per_user=3)

    configure.set_cooldown("guild", cooldown)
    configure.set_channel_cooldown("guild", "c1", strict)
    configure.set_quota("guild", quota)
    configure.set_content_filter("guild", ContentFilterPolicy.STOP)
    configure.set_sampling("guild", Sampling(temperature=0.5, max_output_tokens=100))
    configure.set_sampling("guild", Sampling(temperature=1.0), "wall")
    settings = configure.require_member_keys("guild", True)

    assert settings == ServerSettings(
        server_id="guild",
        version=settings.version,
        member_keys_only=True,
        content_filter=ContentFilterPolicy.STOP,
        sampling=Sampling(temperature=0.5, max_output_tokens=100),
        cooldown=cooldown,
        quota=quota,
        channel_cooldowns=(("c1", strict),),
        providers=(SavedProvider(provider="wall", sampling=Sampling(temperature=1.0)),),
    )


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=2.5), Sampling(top_p=-0.1), Sampling(max_output_tokens=0)],
)
def test_sampling_out_of_its_range_is_refused(configure: Bench, sampling: Sampling) -> None:
    with pytest.raises(SettingsError, match=r"is .* to .*, not"):
        configure.set_sampling("guild", sampling)


def test_a_reset_server_has_set_nothing_any_more(configure: Bench) -> None:
    configure.use_model("guild", "alpha")

    settings = configure.reset_server("guild")

    assert settings == ServerSettings(server_id="guild", version=settings.version)


def test_a_change_is_seen_by_the_next_turn(configure: Bench) -> None:
    assert configure.known.server("guild").primary is None

    settings = configure.use_model("guild", "alpha")

    assert configure.known.server("guild") == settings


# ── users ───────────────────────────────────────────────────────────────────────────────────


def test_a_row_with_a_model_makes_the_turns_personal(configure: Bench) -> None:
    row = SavedProvider(provider="wall", text_enabled=True, randomizer=True)

    settings = configure.set_personal_provider("ann", row, model="alpha")

    assert settings.text_route == SavedProvider(
        provider="wall", model=a_model("alpha"), text_enabled=True, randomizer=True
    )


def test_a_row_of_an_endpoint_needs_no_model_and_is_not_its_own_fallback(configure: Bench) -> None:
    saved = configure.save_endpoint(USER, an_endpoint(0, connection_id=7))
    reference = f"endpoint:{saved.id}"
    row = SavedProvider(provider="custom:7", text_enabled=True)

    settings = configure.set_personal_provider("ann", row, model=reference)

    assert settings.text_route == SavedProvider(
        provider="custom:7", endpoint=saved, text_enabled=True
    )
    with pytest.raises(SettingsError, match="cannot be its own fallback"):
        configure.set_personal_fallbacks("ann", (reference,))


def test_only_one_row_is_used_for_text(configure: Bench) -> None:
    configure.register_model("other:delta")
    configure.set_personal_provider("ann", SavedProvider(provider="wall", text_enabled=True))

    settings = configure.set_personal_provider(
        "ann", SavedProvider(provider="other", text_enabled=True), model="delta"
    )

    assert [(row.provider, row.text_enabled) for row in settings.providers] == [
        ("other", True),
        ("wall", False),
    ]


def test_a_row_takes_only_models_of_its_provider(configure: Bench) -> None:
    with pytest.raises(SettingsError, match="'alpha' is not a model of other"):
        configure.set_personal_provider("ann", SavedProvider(provider="other"), model="alpha")


def test_the_personal_chain_follows_the_same_rules(configure: Bench) -> None:
    row = SavedProvider(provider="wall", text_enabled=True)
    configure.set_personal_provider("ann", row, model="alpha")

    with pytest.raises(SettingsError, match="cannot be its own fallback"):
        configure.set_personal_fallbacks("ann", ("alpha",))
    settings = configure.set_personal_fallbacks("ann", ("gamma", "beta", "gamma"))
    assert names(settings.chain) == ["gamma", "beta"]
    promoted = configure.set_personal_provider("ann", row, model="gamma")
    assert names(promoted.chain) == ["beta"]
    assert configure.set_personal_fallbacks("ann", ()).chain == ()


def test_a_user_turns_the_server_fallback_off_and_on(configure: Bench) -> None:
    assert not configure.allow_server_fallback("ann", False).server_fallback
    assert configure.allow_server_fallback("ann", True).server_fallback


def test_a_removed_row_is_gone(configure: Bench) -> None:
    configure.set_personal_provider("ann", SavedProvider(provider="wall"))

    settings = configure.remove_personal_provider("ann", "wall")

    assert settings == PersonalSettings(user_id="ann", version=settings.version)
    with pytest.raises(SettingsError, match="has no provider 'wall'; set: none"):
        configure.remove_personal_provider("ann", "wall")
