from dataclasses import replace

import pytest
from builders import SERVER, USER, a_model, an_endpoint
from fakes import FrozenClock, OneProvider, ScriptedProvider

from turnkeeper.application.configure import Configure
from turnkeeper.application.configure_models import ConfigurePorts
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.portable import (
    PortableChannel,
    PortablePersona,
    PortableProvider,
    PortableRow,
    PortableServer,
    PortableUser,
)
from turnkeeper.application.portable_changes import Change
from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Limits, Sampling
from turnkeeper.domain.plan import EndpointEntry, ModelEntry
from turnkeeper.domain.settings import FallbackRef, ServerSettings
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.vault import AesGcmVault

ALPHA, BETA = a_model("alpha"), a_model("beta")


class Desk(Configure):
    """Everything configurable, in memory, with nothing set."""

    def __init__(self, vault: AesGcmVault) -> None:
        self.store = MemorySettingsStore()
        super().__init__(
            ConfigurePorts(
                store=self.store,
                editor=self.store,
                keys=MemoryKeyRing(vault=vault, clock=FrozenClock()),
                providers=OneProvider(ScriptedProvider()),
                known=KnownSettings(self.store),
            )
        )


@pytest.fixture
def desk(vault: AesGcmVault) -> Desk:
    return Desk(vault)


def test_a_server_is_exported_with_the_models_that_it_refers_to(desk: Desk) -> None:
    for model in (ALPHA, BETA, a_model("gamma")):
        desk.register_model(model)
    desk.save_endpoint(SERVER, an_endpoint(0, label="gone"))
    den = desk.save_endpoint(SERVER, an_endpoint(0, label="den", model_id=BETA.id))
    desk.remove_endpoint(SERVER, den.id - 1)
    desk.use_model(SERVER.id, "alpha")
    desk.set_fallbacks(SERVER.id, (f"endpoint:{den.id}",))

    exported = desk.export_settings(SERVER)

    assert exported.settings == PortableServer(
        server=SERVER.id,
        primary=ALPHA.id,
        fallbacks=("endpoint:1",),
        endpoints=(replace(den, id=1),),
        models=(ALPHA, BETA),
    )


def test_what_leads_nowhere_is_left_out_and_named(desk: Desk) -> None:
    desk.register_model(ALPHA)
    gone = FallbackRef(kind="model", id=BETA.id)
    desk.store.save_server(
        ServerSettings(server_id=SERVER.id, randomizer=True),
        primary=FallbackRef(kind="model", id=ALPHA.id),
        chain=(gone,),
    )

    exported = desk.export_settings(SERVER)

    assert [entry.name for entry in exported.left_out] == [BETA.id]
    assert exported.settings == PortableServer(server=SERVER.id, primary=ALPHA.id, models=(ALPHA,))


def test_an_import_registers_models_and_says_what_changed_and_which_keys_are_missing(
    desk: Desk,
) -> None:
    desk.add_key(SERVER, "wall", "sk-0123456789abcdef")
    den = an_endpoint(7, label="den", connection_id=2)
    settings = PortableServer(
        server=SERVER.id,
        primary=ALPHA.id,
        fallbacks=("endpoint:7",),
        endpoints=(den,),
        models=(ALPHA,),
    )

    imported = desk.import_settings(settings)

    (saved,) = desk.endpoints(SERVER)
    server = desk.server(SERVER.id)
    assert server.primary == ModelEntry(model=ALPHA)
    assert server.chain == (EndpointEntry(endpoint=saved, owner=SERVER),)
    assert saved == replace(den, id=saved.id)
    assert imported.new_models == (ALPHA.id,)
    assert imported.missing_keys == ("custom:2",)
    assert imported.changes[:2] == (
        Change(place="primary", before="not set", after=ALPHA.id),
        Change(place="fallbacks", before="not set", after="endpoint:den"),
    )


def test_a_dry_run_says_the_same_and_changes_nothing(desk: Desk) -> None:
    settings = PortableServer(
        server=SERVER.id, primary="endpoint:7", endpoints=(an_endpoint(7),), models=(ALPHA,)
    )

    would = desk.import_settings(settings, dry_run=True)

    assert desk.owners() == ()
    assert desk.models() == ()
    assert desk.import_settings(settings) == would


def test_the_same_again_changes_nothing(desk: Desk) -> None:
    settings = PortableUser(
        user=USER.id,
        providers=(PortableRow(provider="wall", model=ALPHA.id, text_enabled=True),),
        models=(ALPHA,),
    )
    desk.import_settings(settings)

    assert desk.import_settings(settings).changes == ()


def test_all_that_was_set_before_is_replaced_and_keys_stay(desk: Desk) -> None:
    key = desk.add_key(SERVER, "wall", "sk-0123456789abcdef")
    desk.set_cooldown(SERVER.id, CooldownRule(type=CooldownType.STRICT))
    desk.save_endpoint(SERVER, an_endpoint(0, label="gone"))
    kept = desk.save_endpoint(SERVER, an_endpoint(0, label="den"))
    den = replace(kept, id=1, base_url="https://other/v1")

    imported = desk.import_settings(PortableServer(server=SERVER.id, endpoints=(den,)))

    assert desk.endpoints(SERVER) == (replace(den, id=kept.id),)
    assert desk.server(SERVER.id).cooldown == CooldownRule()
    assert desk.saved_keys(SERVER) == (key,)
    assert Change(place="cooldown.type", before="strict", after="off") in imported.changes
    assert (
        Change(place="endpoints.den.base_url", before=kept.base_url, after="https://other/v1")
        in imported.changes
    )
    assert {change.after for change in imported.changes if "gone" in change.place} == {"not set"}


def test_endpoints_of_one_label_are_told_apart_by_their_order(desk: Desk) -> None:
    first, second = (an_endpoint(0, label="den", base_url=f"https://{n}/v1") for n in "ab")
    for endpoint in (first, second):
        desk.save_endpoint(SERVER, endpoint)
    desk.use_model(SERVER.id, "endpoint:2")
    exported = desk.export_settings(SERVER).settings
    other = replace(second, id=2, base_url="https://c/v1")

    imported = desk.import_settings(replace(exported, endpoints=(exported.endpoints[0], other)))

    assert imported.changes == (
        Change(place="endpoints.den#2.base_url", before="https://b/v1", after="https://c/v1"),
    )
    assert [one.id for one in desk.endpoints(SERVER)] == [1, 2]


def test_a_model_that_is_registered_otherwise_here_stays_as_it_is_here(desk: Desk) -> None:
    desk.register_model(ALPHA)
    other = replace(ALPHA, limits=Limits(window_tokens=9))

    imported = desk.import_settings(
        PortableServer(server=SERVER.id, primary=ALPHA.id, models=(other,))
    )

    assert (imported.new_models, imported.kept_models) == ((), (ALPHA.id,))
    assert desk.find_model(ALPHA.id) == ALPHA


HUGE = "endpoint:" + "1" * 5000
"""Python turns no more than 4,300 digits into a number."""
BROKEN = PortableServer(
    server=SERVER.id,
    primary="wall:none",
    fallbacks=("endpoint:9", "endpoint:x", "endpoint:01", HUGE),
    randomizer=True,
    sampling=Sampling(temperature=3),
    channels=(PortableChannel(id="7", model="wall:none"), PortableChannel(id="7")),
    personas=(PortablePersona(id="zoe", model="wall:none"),),
    providers=(PortableProvider(provider="nowhere", sampling=Sampling(top_p=2)),),
    endpoints=(an_endpoint(1, base_url="https://ann:secret@host/v1"),),
    models=(a_model(provider="nowhere"),),
)


def test_all_that_is_unknown_or_broken_is_named_with_its_place(desk: Desk) -> None:
    with pytest.raises(SettingsError) as refused:
        desk.import_settings(BROKEN)

    unknown = "no model 'wall:none' is described in it or registered here"
    nowhere = "there is no provider 'nowhere'; there are: wall"
    assert str(refused.value).split("; ") == [
        "endpoints[0]: the address of an endpoint has no user name, password, ? or # in it",
        "save its key with `turnkeeper key add custom:N`",
        *f"models[0].provider: {nowhere}".split("; "),
        f"primary: {unknown}",
        "fallbacks[0]: it has no 'endpoint:9'",
        "there are: endpoint:1",
        "fallbacks[1]: it has no 'endpoint:x'",
        "there are: endpoint:1",
        "fallbacks[2]: it has no 'endpoint:01'",
        "there are: endpoint:1",
        f"fallbacks[3]: it has no {HUGE!r}",
        "there are: endpoint:1",
        "channels: '7' is there twice",
        f"channels[0].model: {unknown}",
        f"personas[0].model: {unknown}",
        "sampling: temperature is 0 to 2, not 3",
        *f"providers[0].provider: {nowhere}".split("; "),
        "providers[0]: top_p is 0 to 1, not 2",
    ]
    assert "secret" not in str(refused.value)
    assert (desk.owners(), desk.models()) == ((), ())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            PortableServer(server="1", primary=ALPHA.id, randomizer=True, models=(ALPHA,)),
            "randomizer: it needs a primary model with a fallback to draw from",
        ),
        (
            PortableServer(server="1", primary=ALPHA.id, fallbacks=(ALPHA.id,), models=(ALPHA,)),
            "fallbacks: the primary model cannot be its own fallback",
        ),
        (
            PortableServer(server="1", models=(ALPHA, ALPHA)),
            "models: 'wall:alpha' is there twice",
        ),
        (
            PortableServer(server="1", models=(replace(ALPHA, price_out_per_mtok=-1.0),)),
            "models[0].price_out_per_mtok: it is 0 to 1000000 US dollars, not -1.0",
        ),
        (
            PortableServer(server="1", endpoints=(an_endpoint(1, label=" "),)),
            "endpoints[0]: the label of an endpoint is its name, not ' '",
        ),
        (
            PortableServer(server="1", sampling=Sampling(logit_bias=(("5", -101.0),))),
            "sampling: the logit_bias of token '5' is -100 to 100, not -101.0",
        ),
        (
            PortableServer(server="1", endpoints=(an_endpoint(1), an_endpoint(1))),
            "endpoints: '1' is there twice",
        ),
        (
            PortableUser(
                user="1",
                providers=(
                    PortableRow(provider="a", text_enabled=True),
                    PortableRow(provider="b", text_enabled=True),
                ),
            ),
            "providers: text_enabled is true for one of them at most",
        ),
        (
            PortableUser(
                user="1", providers=(PortableRow(provider="b", model=ALPHA.id),), models=(ALPHA,)
            ),
            "providers[0].model: wall:alpha is not a model of b",
        ),
        (
            PortableUser(
                user="1",
                providers=(PortableRow(provider="b", endpoint="endpoint:1"),),
                endpoints=(an_endpoint(1),),
            ),
            "providers[0].endpoint: endpoint:1 is not one of b",
        ),
        (
            PortableUser(
                user="1",
                providers=(PortableRow(provider="wall", model=ALPHA.id, text_enabled=True),),
                fallbacks=(ALPHA.id,),
                models=(ALPHA,),
            ),
            "fallbacks: the primary model cannot be its own fallback",
        ),
    ],
)
def test_the_rules_of_single_changes_hold_for_files_too(
    desk: Desk, settings: PortableServer | PortableUser, said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        desk.import_settings(settings)

    assert str(refused.value) == said


def test_of_very_many_problems_the_first_are_named_and_the_rest_counted(desk: Desk) -> None:
    settings = PortableServer(server="1", fallbacks=("wall:none",) * 25)

    with pytest.raises(SettingsError, match=r"fallbacks\[19\].*; and 5 more$"):
        desk.import_settings(settings)
