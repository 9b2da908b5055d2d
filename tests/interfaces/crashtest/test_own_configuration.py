"""Somebody's own models and chain, with walls in the place of the providers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnkeeper.application.configure import Configure
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY
from turnkeeper.interfaces.container import Container, built, shut_down
from turnkeeper.interfaces.crashtest.crash_test import PROFILES, run_all
from turnkeeper.interfaces.crashtest.own_configuration import OwnConfiguration, own_configuration
from turnkeeper.interfaces.crashtest.own_ground import OwnGround
from turnkeeper.interfaces.crashtest.place import MemoryPlace
from turnkeeper.interfaces.crashtest.plan import Wanted, planned
from turnkeeper.interfaces.crashtest.row import Row
from turnkeeper.interfaces.crashtest.score import Grade
from turnkeeper.interfaces.settings import Settings

SERVER = Owner.server("guild")
CANARY = "sk-canary-0123456789abcdef"
PROVIDERS = tuple(f"S{number:02}" for number in range(1, 17) if number != 15)


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    made = built(Settings(store="memory", data_dir=tmp_path), {})
    yield made
    shut_down(made)


@pytest.fixture
def configure(container: Container) -> Configure:
    return container.configure()


def use(configure: Configure, *models: str) -> None:
    for model in models:
        if not model.startswith("endpoint:"):
            configure.register_model(model)
    configure.use_model(SERVER.id, models[0])
    if models[1:]:
        configure.set_fallbacks(SERVER.id, models[1:])


def own(container: Container) -> OwnConfiguration:
    return own_configuration(container, SERVER.id)


def ground(container: Container, policy: ContentFilterPolicy | None = None) -> OwnGround:
    return OwnGround(own(container), speed=20.0, content_filter=policy)


def rows_of(container: Container, *faults: str) -> list[Row]:
    with ground(container) as there:
        cells = planned(there, Wanted(faults=faults))
        return list(run_all(cells, PROFILES["fast"]))


def test_a_chain_of_several_providers_passes(container: Container, configure: Configure) -> None:
    use(configure, "anthropic:one", "groq:two", "google:three")
    configure.add_key(SERVER, "anthropic", CANARY)
    configure.add_key(SERVER, "anthropic", f"{CANARY}-2")
    configure.set_content_filter(SERVER.id, ContentFilterPolicy.STOP)

    rows = rows_of(container, *PROVIDERS)

    assert [(row.fault, row.dialect) for row in rows] == [(one, "anthropic") for one in PROVIDERS]
    assert [row for row in rows if not row.score.counts_as_passed] == []
    (limited,) = (row for row in rows if row.fault == "S02")
    assert limited.seen is not None
    assert len({call.key for call in limited.seen.provider.primary}) == 2


def test_endpoints_are_met_on_walls_of_their_own(
    container: Container, configure: Configure
) -> None:
    for number, label in enumerate(("here", "there"), start=1):
        endpoint = Endpoint(
            id=0, connection_id=number, label=label, base_url="https://models.example/v1",
            model_name="the-same", requires_auth=False,
        )  # fmt: skip
        configure.save_endpoint(SERVER, endpoint)
    use(configure, *(f"endpoint:{one.id}" for one in configure.endpoints(SERVER)))

    rows = rows_of(container, "S03", "S08", "S16")

    assert [(row.dialect, row.score.grade) for row in rows] == [("custom", Grade.PASS)] * 3


def test_one_model_alone_is_no_more_than_safe(container: Container, configure: Configure) -> None:
    use(configure, "openrouter:one")

    (cut,) = rows_of(container, "S08")

    assert cut.seen is not None
    assert cut.seen.provider.fallback_calls == 0
    assert (cut.score.grade, cut.score.counts_as_passed) == (Grade.SAFE, False)


def test_keys_are_planted_ones_and_settings_are_kept(
    container: Container, configure: Configure
) -> None:
    use(configure, "openai:one", "mistral:two")
    configure.add_key(SERVER, "openai", CANARY)
    configure.set_sampling(SERVER.id, Sampling(temperature=0.25))
    before = configure.server(SERVER.id), configure.saved_keys(SERVER)
    with ground(container) as there:
        house = there.house("openai")
        house.script((FROM_PRIMARY,))

        there.watch.observed(house, MemoryPlace())

        (asked,) = house.of_primary
        assert asked.key is not None
        assert asked.key.startswith("sk-planted-")
        assert CANARY not in repr(asked.headers) + asked.raw.decode()
        assert (asked.model, asked.body["temperature"]) == ("one", 0.25)
    assert (configure.server(SERVER.id), configure.saved_keys(SERVER)) == before


def test_nothing_is_left_that_leads_beyond_loopback(
    container: Container, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCORD_TOKEN", "not-a-token")
    monkeypatch.setenv("TURNKEEPER_BASE_URLS", '{"openai": "https://proxy.example/v1"}')
    use(configure, "openai:one", "google:two")
    with ground(container) as there:
        house = there.house("openai")
        settings = house.keeper._container.settings()

        assert (settings.store, settings.discord_token, settings.live_limits) == (
            "memory",
            None,
            False,
        )
        assert set(settings.base_urls) == {"openai", "google"}
        assert all(url.startswith("http://127.0.0.1:") for url in settings.base_urls.values())


def test_the_servers_own_filter_counts_unless_another_is_named(
    container: Container, configure: Configure
) -> None:
    use(configure, "openai:one")
    configure.set_content_filter(SERVER.id, ContentFilterPolicy.STOP)

    assert ground(container).content_filter is ContentFilterPolicy.STOP
    named = ground(container, ContentFilterPolicy.NEXT)
    assert named.content_filter is ContentFilterPolicy.NEXT


def test_a_server_without_a_model_is_told_how_to_get_one(container: Container) -> None:
    with pytest.raises(SettingsError, match="server guild has no model: set one with"):
        ground(container)


def test_a_provider_that_no_wall_speaks_for_is_named(container: Container) -> None:
    editor = container.settings_editor()
    editor.save_model(Model(id="mine:one", provider="mine", name="one"))
    container.configure().use_model(SERVER.id, "mine:one")

    with pytest.raises(SettingsError, match="no wall speaks as provider 'mine'"):
        ground(container)
