"""From settings to attempts."""

import pytest
from builders import SERVER, USER, a_model, a_request, an_endpoint
from fakes import LoadedDice

from turnkeeper.domain.model import Sampling
from turnkeeper.domain.occasion import Audience, Occasion, QuotaSource
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.plan import (
    BrokenEntry,
    EndpointEntry,
    ModelEntry,
    ServerRoute,
    Slot,
    lead_with,
    pool,
)
from turnkeeper.domain.planning import (
    goes_personal,
    lends,
    override_of,
    personal_attempts,
    renumbered,
    server_attempts,
    wants_own_keys,
    withheld,
)
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.domain.turn import TurnRequest

ALPHA, BETA, GAMMA = a_model("alpha"), a_model("beta"), a_model("gamma", provider="other")


def entry(name: str) -> ModelEntry:
    return ModelEntry(model=a_model(name))


def a_server(*chain: ModelEntry | EndpointEntry | BrokenEntry, **more: object) -> ServerSettings:
    settings: dict[str, object] = {
        "server_id": "guild",
        "primary": ModelEntry(model=ALPHA),
        "chain": chain,
        **more,
    }
    return ServerSettings(**settings)  # type: ignore[arg-type]


def a_user(
    *chain: ModelEntry | EndpointEntry | BrokenEntry, randomizer: bool = False, **more: object
) -> PersonalSettings:
    row = SavedProvider(provider="wall", model=ALPHA, text_enabled=True, randomizer=randomizer)
    return PersonalSettings(user_id="ann", providers=(row,), chain=chain, **more)  # type: ignore[arg-type]


class TestWhoPays:
    def test_a_row_with_text_enabled_and_a_model_makes_the_turn_personal(self) -> None:
        assert goes_personal(a_request(), a_user())

    def test_the_first_such_row_counts(self) -> None:
        rows = (
            SavedProvider(provider="a", model=None, text_enabled=True),
            SavedProvider(provider="b", model=ALPHA, text_enabled=False),
            SavedProvider(provider="c", model=BETA, text_enabled=True),
            SavedProvider(provider="d", model=ALPHA, text_enabled=True),
        )

        row = PersonalSettings(user_id="ann", providers=rows).text_route

        assert row == rows[2]

    def test_a_row_whose_model_is_gone_does_not_count(self) -> None:
        row = SavedProvider(provider="wall", model=None, text_enabled=True)

        assert not goes_personal(a_request(), PersonalSettings(user_id="ann", providers=(row,)))

    def test_the_bots_own_message_is_never_personal(self) -> None:
        request = a_request(occasion=Occasion(is_self_message=True))

        assert not goes_personal(request, a_user())


class TestThePool:
    def test_the_primary_comes_first_then_the_chain_in_its_order(self) -> None:
        attempts = server_attempts(
            a_request(), a_server(entry("beta"), entry("gamma")), None, LoadedDice().below
        )

        assert [attempt.model.name for attempt in attempts] == ["alpha", "beta", "gamma"]
        assert [attempt.label for attempt in attempts] == [
            "primary",
            "fallback 1: beta",
            "fallback 2: gamma",
        ]

    def test_the_primary_is_never_its_own_fallback(self) -> None:
        members = pool(entry("alpha"), (entry("beta"), entry("alpha")))

        assert [member.entry for member in members] == [entry("alpha"), entry("beta")]

    def test_an_endpoint_bound_to_the_primary_counts_as_the_same(self) -> None:
        bound = EndpointEntry(endpoint=an_endpoint(model_id="wall:alpha"), owner=SERVER)

        assert len(pool(entry("alpha"), (bound,))) == 1

    def test_equal_numbers_of_different_kinds_are_not_confused(self) -> None:
        other = EndpointEntry(endpoint=an_endpoint(5, model_id="wall:beta"), owner=SERVER)
        mine = EndpointEntry(endpoint=an_endpoint(5), owner=USER)

        assert len(pool(entry("alpha"), (other, mine))) == 3

    def test_slots_are_counted_before_anything_is_left_out_or_moved(self) -> None:
        members = pool(entry("alpha"), (entry("alpha"), entry("beta")))

        assert [member.slot for member in members] == [
            Slot(number=1, is_lead=True),
            Slot(number=2, is_lead=False),
        ]

    def test_a_reference_that_leads_nowhere_stays_with_its_cause(self) -> None:
        broken = BrokenEntry(name="wall:gone", cause="the model is not registered any more")

        attempts = server_attempts(a_request(), a_server(broken), None, LoadedDice().below)

        assert attempts[1].cause == "the model is not registered any more"

    def test_an_endpoint_without_a_connection_has_a_cause(self) -> None:
        lost = EndpointEntry(endpoint=an_endpoint(connection_id=None), owner=SERVER)

        attempts = server_attempts(a_request(), a_server(lost), None, LoadedDice().below)

        assert attempts[1].cause is not None

    def test_a_server_endpoint_is_paid_by_the_server_and_a_personal_one_by_its_user(self) -> None:
        mine = EndpointEntry(endpoint=an_endpoint(42, connection_id=42), owner=USER)

        attempts = personal_attempts(a_request(), a_user(mine), None, LoadedDice().below)

        assert (attempts[1].owner, attempts[1].provider) == (USER, "custom:42")

    def test_a_server_without_a_model_says_so(self) -> None:
        attempts = server_attempts(
            a_request(), ServerSettings(server_id="guild"), None, LoadedDice().below
        )

        assert "has no model" in (attempts[0].cause or "")


class TestTheRandomizer:
    def test_a_random_member_leads_and_the_others_keep_their_order(self) -> None:
        attempts = server_attempts(
            a_request(),
            a_server(entry("beta"), entry("gamma"), randomizer=True),
            None,
            LoadedDice(2).below,
        )

        assert [attempt.model.name for attempt in attempts] == ["gamma", "alpha", "beta"]
        assert [attempt.label for attempt in attempts][:1] == ["primary"]

    def test_slots_stay_what_they_were(self) -> None:
        attempts = server_attempts(
            a_request(), a_server(entry("beta"), randomizer=True), None, LoadedDice(1).below
        )

        assert [attempt.slot for attempt in attempts] == [
            Slot(number=1, is_lead=False),
            Slot(number=1, is_lead=True),
        ]

    def test_a_pool_of_one_is_left_as_it_is(self) -> None:
        attempts = server_attempts(a_request(), a_server(randomizer=True), None, LoadedDice().below)

        assert len(attempts) == 1

    @pytest.mark.parametrize("index", range(4))
    def test_it_only_reorders(self, index: int) -> None:
        members = pool(entry("alpha"), (entry("beta"), entry("gamma"), entry("delta")))

        led = lead_with(members, index)

        assert led[0] == members[index]
        assert [m for m in led[1:]] == [m for m in members if m != members[index]]

    def test_a_personal_preference_does_not_reorder_the_server(self) -> None:
        attempts = server_attempts(a_request(), a_server(entry("beta")), None, LoadedDice(1).below)

        assert [attempt.model.name for attempt in attempts] == ["alpha", "beta"]

    def test_personal_off_hides_a_server_on(self) -> None:
        attempts = personal_attempts(
            a_request(), a_user(entry("beta"), randomizer=False), None, LoadedDice(1).below
        )

        assert [attempt.model.name for attempt in attempts] == ["alpha", "beta"]

    def test_personal_on_applies_under_a_server_off(self) -> None:
        attempts = personal_attempts(
            a_request(), a_user(entry("beta"), randomizer=True), None, LoadedDice(1).below
        )

        assert [attempt.model.name for attempt in attempts] == ["beta", "alpha"]


class TestTheLead:
    def lead(self, request: object, **more: object) -> str:
        server = a_server(entry("beta"), **more)
        attempts = server_attempts(request, server, None, LoadedDice().below)  # type: ignore[arg-type]
        return attempts[0].model.name

    def test_a_channel_overrides_the_server(self) -> None:
        assert self.lead(a_request(), channel_models=(("channel", GAMMA),)) == "gamma"

    def test_a_thread_inherits_its_parents_override(self) -> None:
        request = a_request(channel_id="thread", parent_channel_id="channel")

        assert self.lead(request, channel_models=(("channel", GAMMA),)) == "gamma"

    def test_a_persona_overrides_the_channel(self) -> None:
        lead = self.lead(
            a_request(), persona_models=(("", BETA),), channel_models=(("channel", GAMMA),)
        )

        assert lead == "beta"

    def test_impersonation_keeps_the_servers_own_model(self) -> None:
        request = a_request(audience=Audience.CALLER)

        assert self.lead(request, channel_models=(("channel", GAMMA),)) == "alpha"

    def test_an_override_of_the_turn_keeps_the_true_models_limits(self) -> None:
        known = a_model("beta", window=1234)
        attempts = server_attempts(
            a_request(), a_server(), override_of("wall:beta", known), LoadedDice().below
        )

        assert attempts[0].model == known

    def test_an_override_that_is_not_registered_goes_by_its_name(self) -> None:
        override = override_of("openrouter:maker/model", None)

        assert isinstance(override, ModelEntry)
        assert (override.model.provider, override.model.name) == ("openrouter", "maker/model")

    def test_an_override_that_names_nothing_has_a_cause_and_the_chain_follows(self) -> None:
        attempts = server_attempts(
            a_request(), a_server(entry("beta")), override_of("gibberish", None), LoadedDice().below
        )

        assert attempts[0].cause == "a model is written PROVIDER:NAME, not 'gibberish'"
        assert attempts[1].model.name == "beta"


class TestSampling:
    def test_a_saved_provider_overrides_the_server_where_it_is_set(self) -> None:
        saved = SavedProvider(provider="wall", sampling=Sampling(temperature=0.2))
        server = a_server(
            providers=(saved,), sampling=Sampling(temperature=1.0, max_output_tokens=900)
        )

        attempts = server_attempts(a_request(), server, None, LoadedDice().below)

        assert attempts[0].sampling == Sampling(temperature=0.2, max_output_tokens=900)


class TestTheServerRoute:
    def test_it_is_the_servers_to_say(self) -> None:
        assert withheld(a_request(), a_user()) is None

    def test_a_server_lends(self) -> None:
        assert lends(a_server()) is ServerRoute.MAY_OPEN

    def test_an_opt_out_withholds_it_without_asking_the_server(self) -> None:
        assert withheld(a_request(), a_user(server_fallback=False)) is ServerRoute.OPTED_OUT

    def test_a_server_that_wants_member_keys_withholds_it(self) -> None:
        assert lends(a_server(member_keys_only=True)) is ServerRoute.MEMBER_KEYS_ONLY

    @pytest.mark.parametrize(
        ("request_", "wanted"),
        [
            (a_request(user_id="user"), True),
            (a_request(), False),
            (a_request(user_id="user", occasion=Occasion(is_self_message=True)), False),
            (a_request(user_id="user", occasion=Occasion(quota_source=QuotaSource.SYSTEM)), False),
        ],
        ids=["a member's", "nobody's", "the bot's own", "the system's"],
    )
    def test_a_member_has_to_bring_keys_where_the_server_says_so(
        self, request_: TurnRequest, wanted: bool
    ) -> None:
        assert wants_own_keys(request_, a_server(member_keys_only=True)) is wanted
        assert not wants_own_keys(request_, a_server())

    def test_impersonation_stays_on_its_route(self) -> None:
        request = a_request(audience=Audience.CALLER)

        assert withheld(request, a_user()) is ServerRoute.IMPERSONATION

    def test_its_attempts_are_the_servers_and_numbered_on(self) -> None:
        attempts = server_attempts(a_request(), a_server(entry("beta")), None, LoadedDice().below)

        assert [(a.number, a.route, a.owner) for a in renumbered(attempts, 3)] == [
            (3, Route.SERVER, Owner.server("guild")),
            (4, Route.SERVER, Owner.server("guild")),
        ]
        assert renumbered(attempts, 3)[0].label == "fallback 3: alpha"
