"""The parity scenarios of chains, overlays and saved settings, 39 to 66.

Not here, since there is no such thing in this library: 45 to 47 (the "smartest" model of a
provider), 62 to 65 (image models), and of 66 the deprecated and the smartest models. 54 and 55
(a menu of at most 24 models, in ranges) belong to Discord. A docstring that says "Ours" names a
difference.
"""

from dataclasses import replace

import pytest
from builders import SERVER, USER, a_model, a_request, an_endpoint
from fakes import FrozenClock, OneProvider, ScriptedProvider, fails, says
from turns import VAULT, Bench, Benches, a_server, a_user

from turnkeeper.application.configure import Configure
from turnkeeper.application.configure_models import ConfigurePorts
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.errors import SettingsError, StoreUnavailable
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Model, Sampling
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import EndpointEntry, FallbackEntry, ModelEntry, pool
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.settings import FallbackRef, SavedProvider, ServerSettings
from turnkeeper.domain.turn import Persona
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore

FAILS = fails(FailureKind.OVERLOADED)
HELLO = says("Hello.")
MIKO = Persona(id="miko", name="Miko")


def entry(name: str, provider: str = "wall") -> ModelEntry:
    return ModelEntry(model=a_model(name, provider))


def bound(endpoint_id: int, model: str | None = None) -> EndpointEntry:
    """An endpoint of the server, which stands for a registered model if one is named."""
    endpoint = an_endpoint(endpoint_id, model_id=f"wall:{model}" if model else None)
    return EndpointEntry(endpoint=endpoint, owner=SERVER)


def chain_of(primary: FallbackEntry, *chain: FallbackEntry) -> list[FallbackEntry]:
    """What is left of a chain behind its primary."""
    return [member.entry for member in pool(primary, chain)[1:]]


class TestIdentity:
    def test_an_endpoint_is_itself_and_the_model_that_it_stands_for(self) -> None:
        """39. An endpoint bound to a model: as a primary it has both identities."""
        assert chain_of(bound(5, "alpha"), entry("alpha"), bound(5)) == []

    def test_equal_numbers_do_not_make_an_endpoint_a_model(self) -> None:
        """40. A chain of model 42, endpoint 5 that stands for it, endpoint 42 and model 7 behind
        primary model 42: endpoint 42 and model 7 remain."""
        chain = (entry("42"), bound(5, "42"), bound(42), entry("7"))

        assert chain_of(entry("42"), *chain) == [bound(42), entry("7")]


def asked(turn: Bench) -> list[str]:
    """The models that were asked, in order."""
    return [model for model, _ in turn.provider.calls]


class TestThePersonalChain:
    def test_endpoints_and_models_are_tried_in_their_stored_order(self, bench: Benches) -> None:
        """41. A personal text row is active and the user's chain is an endpoint and a model:
        both are tried, in that order."""
        home = EndpointEntry(endpoint=an_endpoint(5, connection_id=5, label="home"), owner=USER)
        user = replace(a_user("mine", server_fallback=False), chain=(home, entry("yours")))
        turn = bench(ScriptedProvider(mine=FAILS, home=FAILS, yours=FAILS), user=user)
        turn.keys.add(USER, "custom:5", Secret("sk-home"))

        turn.run()

        assert asked(turn) == ["mine", "home", "yours"]

    def test_without_a_text_route_the_servers_chain_is_unchanged(self, bench: Benches) -> None:
        """42. The user has enabled a provider for something else than text: the server's models
        are used as they are, and none of the user's."""
        row = SavedProvider(provider="wall", model=a_model("mine"), text_enabled=False)
        user = replace(a_user(), providers=(row,), chain=(entry("yours"),))
        turn = bench(ScriptedProvider(alpha=FAILS, beta=FAILS), user=user)

        result = turn.run()

        assert (asked(turn), result.credential_source) == (["alpha", "beta"], Route.SERVER)

    def test_it_stays_when_another_provider_becomes_the_active_one(self, bench: Benches) -> None:
        """43. The active personal provider changes: the same chain applies."""
        first, second = a_user("mine", "yours").providers[0], a_model("other", "other")
        user = a_user("mine", "yours", server_fallback=False)
        turn = bench(ScriptedProvider(mine=FAILS, yours=FAILS, other=FAILS), user=user)
        turn.keys.add(USER, "other", Secret("sk-other"))
        turn.run()
        rows = (
            SavedProvider(provider="other", model=second, text_enabled=True),
            replace(first, text_enabled=False),
        )
        turn.settings.now_personal = replace(user, providers=rows, version=2)

        turn.clock.sleep(60)
        turn.run()

        assert asked(turn) == ["mine", "yours", "other", "yours"]

    def test_an_empty_one_leaves_the_users_model_alone(self, bench: Benches) -> None:
        """44. The user's chain is empty: none of the server's fallbacks slips into it."""
        turn = bench(ScriptedProvider(mine=FAILS), user=a_user("mine", server_fallback=False))

        turn.run()

        assert asked(turn) == ["mine"]


class TestSettingsThatHaveJustChanged:
    """Another process changed them, and the turn's opening says so: it is planned anew."""

    QUOTA = QuotaRule(enabled=True, daily_per_user=1)

    def test_a_user_who_has_just_given_up_a_key_is_admitted_like_anybody(
        self, bench: Benches
    ) -> None:
        """42, 43. The user's text route is gone: the turn is the server's now, and its quota
        counts."""
        turn = bench(
            ScriptedProvider(mine=HELLO, alpha=HELLO),
            user=a_user("mine"),
            server=a_server("alpha", quota=self.QUOTA),
        )
        turn.run()
        turn.settings.now_personal = replace(a_user(), version=2)

        statuses = [turn.run().status for _ in range(2)]

        assert statuses == [TurnStatus.COMPLETED, TurnStatus.SKIPPED]

    def test_a_user_who_has_just_brought_a_key_is_not_refused_by_the_server(
        self, bench: Benches
    ) -> None:
        """43. The user has a text route now: the server's used up quota is of no concern."""
        turn = bench(
            ScriptedProvider(mine=HELLO, alpha=HELLO), server=a_server("alpha", quota=self.QUOTA)
        )
        turn.run()
        turn.settings.now_personal = replace(a_user("mine"), version=2)

        assert turn.run().credential_source is Route.PERSONAL


@pytest.fixture
def store() -> "SomeStore":
    return SomeStore()


class SomeStore(MemorySettingsStore):
    """Settings in memory; writing a server's may be made to fail."""

    is_away = False

    def save_server(
        self,
        settings: ServerSettings,
        *,
        primary: FallbackRef | None,
        chain: tuple[FallbackRef, ...],
    ) -> None:
        if self.is_away:
            raise StoreUnavailable("the database is away")
        super().save_server(settings, primary=primary, chain=chain)


@pytest.fixture
def configure(store: SomeStore) -> Configure:
    keys = MemoryKeyRing(vault=VAULT, clock=FrozenClock())
    configure = Configure(
        ConfigurePorts(
            store=store,
            editor=store,
            keys=keys,
            providers=OneProvider(ScriptedProvider()),
            known=KnownSettings(store),
        )
    )
    for name in ("alpha", "beta", "gamma", "delta"):
        configure.register_model(a_model(name))
    configure.use_model(SERVER.id, "alpha")
    configure.set_fallbacks(SERVER.id, ("beta", "gamma"))
    return configure


def server_chain(configure: Configure) -> tuple[FallbackEntry, ...]:
    return configure.server(SERVER.id).chain


class TestPromoting:
    def test_a_model_of_the_chain_leaves_it(self, configure: Configure) -> None:
        """48. A model that is in the chain is promoted: it is removed from the chain."""
        settings = configure.use_model(SERVER.id, "beta")

        assert (settings.primary, settings.chain) == (entry("beta"), (entry("gamma"),))

    def test_an_endpoint_that_stands_for_it_leaves_the_chain(self, configure: Configure) -> None:
        """49. A model is promoted that an endpoint in the chain stands for: the endpoint is
        removed."""
        saved = configure.save_endpoint(SERVER, an_endpoint(0, model_id="wall:delta"))
        configure.set_fallbacks(SERVER.id, ("beta", f"endpoint:{saved.id}"))

        assert configure.use_model(SERVER.id, "delta").chain == (entry("beta"),)

    def test_a_model_from_elsewhere_leaves_the_chain_as_it_is(self, configure: Configure) -> None:
        """50. The promoted model is not in the chain: the chain stays as it is."""
        assert configure.use_model(SERVER.id, "delta").chain == (entry("beta"), entry("gamma"))

    def test_a_provider_that_is_not_for_text_leaves_the_chain_as_it_is(
        self, configure: Configure
    ) -> None:
        """51. A model is chosen for another capability than text: the chain is untouched."""
        configure.set_personal_fallbacks(USER.id, ("beta", "gamma"))

        settings = configure.set_personal_provider(
            USER.id, SavedProvider(provider="wall", text_enabled=False), model="beta"
        )

        assert settings.chain == (entry("beta"), entry("gamma"))

    def test_an_endpoint_that_is_still_used_is_not_removed(self, configure: Configure) -> None:
        """52. The primary endpoint is removed and a sibling from the chain would be promoted.

        Ours: nobody is given another model unasked; the removal is refused with what to do,
        and once another model was chosen it goes through."""
        saved = configure.save_endpoint(SERVER, an_endpoint(0))
        configure.use_model(SERVER.id, f"endpoint:{saved.id}")

        with pytest.raises(SettingsError, match="choose other models first"):
            configure.remove_endpoint(SERVER, saved.id)

        configure.use_model(SERVER.id, "beta")
        configure.remove_endpoint(SERVER, saved.id)
        assert (configure.endpoints(SERVER), server_chain(configure)) == ((), (entry("gamma"),))

    def test_removing_another_endpoint_leaves_the_chain_as_it_is(
        self, configure: Configure
    ) -> None:
        """53. The removed endpoint was not primary: the chain is untouched."""
        saved = configure.save_endpoint(SERVER, an_endpoint(0))

        configure.remove_endpoint(SERVER, saved.id)

        assert server_chain(configure) == (entry("beta"), entry("gamma"))


class TestChoosingFallbacks:
    def test_they_keep_their_order_and_count_once(self, configure: Configure) -> None:
        """56. Mixed slots: what was chosen is kept in order, what was cleared is dropped, and
        duplicates are merged."""
        settings = configure.set_fallbacks(SERVER.id, ("delta", "beta", "delta"))

        assert settings.chain == (entry("delta"), entry("beta"))

    def test_the_primary_is_refused_as_its_own_fallback(self, configure: Configure) -> None:
        """57. The primary is chosen as a fallback: refused, and nothing is written."""
        before = configure.server(SERVER.id)

        with pytest.raises(SettingsError, match="cannot be its own fallback"):
            configure.set_fallbacks(SERVER.id, ("delta", "alpha"))

        assert configure.server(SERVER.id) == before

    def test_none_at_all_clears_them_and_the_randomizer(self, configure: Configure) -> None:
        """58. All slots are cleared: the chain is empty. The randomizer, which needs two models
        to draw from, goes off with them."""
        configure.randomize(SERVER.id, True)

        settings = configure.set_fallbacks(SERVER.id, ())

        assert (settings.chain, settings.randomizer) == ((), False)

    def test_a_write_that_fails_says_so_and_changes_nothing(
        self, configure: Configure, store: SomeStore
    ) -> None:
        """59. The write fails: it is said, and nothing claims to have been saved."""
        store.is_away = True

        with pytest.raises(StoreUnavailable):
            configure.set_fallbacks(SERVER.id, ("delta",))

        assert server_chain(configure) == (entry("beta"), entry("gamma"))


class TestSavedProviders:
    """The persona's model is of provider ``other``, the server's own of ``wall``."""

    def other(self, bench: Benches, *rows: SavedProvider) -> Bench:
        return bench(
            ScriptedProvider(gamma=HELLO, beta=HELLO),
            server=a_server(
                "alpha",
                "beta",
                sampling=Sampling(temperature=0.9, top_p=0.5),
                persona_models=(("miko", a_model("gamma", "other")),),
                providers=rows,
            ),
        )

    def test_its_key_and_what_it_sets_replace_and_the_rest_stays(self, bench: Benches) -> None:
        """60. The override's provider has saved settings: its key and what they set replace the
        server's, the rest stays."""
        turn = self.other(
            bench, SavedProvider(provider="other", sampling=Sampling(temperature=0.1))
        )
        turn.keys.add(SERVER, "other", Secret("sk-other"))

        turn.run(a_request(user_id=USER.id, persona=MIKO))

        assert turn.provider.calls == [("gamma", "sk-other")]
        assert turn.provider.seen[0].sampling == Sampling(temperature=0.1, top_p=0.5)

    def test_a_provider_without_a_key_never_gets_another_ones(self, bench: Benches) -> None:
        """61. The override's provider has no key: it has none, and never the base provider's.

        Ours: that is one attempt's failure with its cause, and the chain goes on."""
        turn = self.other(bench)

        result = turn.run(a_request(user_id=USER.id, persona=MIKO))

        assert turn.provider.calls == [("beta", "sk-s1")]
        assert [(one.model, one.failure.kind) for one in result.failures] == [
            ("gamma", FailureKind.NO_KEY)
        ]


class TestRegisteredModels:
    """66. Models are found by id and by name, and nothing is made up."""

    def test_all_are_listed_by_id(self, configure: Configure) -> None:
        """66. The list has every registered model once."""
        configure.register_model("other:alpha")

        assert [model.id for model in configure.models()] == [
            "other:alpha",
            "wall:alpha",
            "wall:beta",
            "wall:delta",
            "wall:gamma",
        ]

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            pytest.param("wall:beta", a_model("beta"), id="by id"),
            pytest.param("beta", a_model("beta"), id="by its name"),
            pytest.param("wall:unknown", None, id="unknown"),
            pytest.param("alpha", None, id="by a name that two providers have"),
        ],
    )
    def test_one_is_found(
        self, configure: Configure, store: SomeStore, text: str, found: Model | None
    ) -> None:
        """66. By id, by provider and name; an unknown one is none."""
        configure.register_model("other:alpha")

        assert store.find_model(text) == found
