import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dependency_injector.providers import Dependency

from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.http import HttpError, HttpErrorKind, HttpRequest
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.interfaces.container import LAST_FIRST, Container, built, shut_down
from turnkeeper.interfaces.settings import Settings

FOREIGN = ("alembic", "click", "psycopg", "requests", "rich", "sqlalchemy")


@pytest.fixture
def on_memory(tmp_path: Path) -> Iterator[Container]:
    container = built(Settings(store="memory", data_dir=tmp_path, discord_token="a-token"), {})
    yield container
    shut_down(container)


@pytest.mark.postgres
def test_every_provider_is_built(database_url: str, tmp_path: Path) -> None:
    container = built(
        Settings(database_url=database_url, data_dir=tmp_path, discord_token="a-token"), {}
    )
    try:
        for name, provider in container.providers.items():
            assert provider() is not None, name
    finally:
        shut_down(container)


def test_every_provider_but_the_databases_own_is_built_on_memory(on_memory: Container) -> None:
    of_postgres = {"database_url", "engine", "postgres_stores"}
    providers: dict[str, Any] = on_memory.providers

    for name in set(providers) - of_postgres:
        assert providers[name]() is not None, name
    assert not any(providers[name].initialized for name in of_postgres)


def test_shared_things_are_made_once(on_memory: Container) -> None:
    made_anew = {"stores", "schema"}  # which only choose

    for name, provider in on_memory.providers.items():
        if isinstance(provider, Dependency) or name in made_anew | set(LAST_FIRST):
            continue
        assert provider() is provider(), name


def test_all_that_must_be_closed_is_closed_last_things_first(on_memory: Container) -> None:
    resources = {
        name for name, provider in on_memory.providers.items() if hasattr(provider, "initialized")
    }

    assert resources == set(LAST_FIRST)


def test_names_are_looked_up_in_threads_of_the_runner(on_memory: Container) -> None:
    on_memory.runner().close()
    request = HttpRequest(url="http://no-such-name.invalid/")

    with pytest.raises(HttpError) as caught:
        on_memory.http().post_stream(request, stop=ThreadStop(), read_timeout_s=1.0)
    assert caught.value.kind is HttpErrorKind.REFUSED  # and not that there is no such name


def test_an_adapter_is_swapped_by_its_name(tmp_path: Path) -> None:
    turns = object()

    container = built(
        Settings(store="memory", data_dir=tmp_path, discord_token="a-token"), {"turns": turns}
    )

    assert container.turns() is turns
    assert not isinstance(container.steps().turns, MemoryTurnStore)
    shut_down(container)


def test_an_adapter_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nothing called 'trns'.*turns"):
        built(
            Settings(store="memory", data_dir=tmp_path, discord_token="a-token"), {"trns": object()}
        )


def test_a_base_url_for_an_unknown_provider_is_refused(tmp_path: Path) -> None:
    urls = {"nobody": "http://127.0.0.1:9/v1"}
    container = built(
        Settings(store="memory", data_dir=tmp_path, base_urls=urls, discord_token="a-token"), {}
    )

    with pytest.raises(SettingsError, match="TURNKEEPER_BASE_URLS names provider 'nobody'"):
        container.chat_providers()
    shut_down(container)


@pytest.mark.parametrize(
    ("module", "loaded"),
    [
        ("turnkeeper.interfaces", set[str]()),
        ("turnkeeper.interfaces.cli", {"click"}),
        ("turnkeeper.interfaces.turnkeeper", {"requests"}),
    ],
)
def test_importing_loads_only_what_is_needed(module: str, loaded: set[str]) -> None:
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & set({FOREIGN!r})))"

    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert set(printed.stdout.split()) == loaded


SELDOM = (
    "turnkeeper.application.configure",
    "turnkeeper.application.list_turns",
    "turnkeeper.application.preview_turn",
    "turnkeeper.domain.signal_rules",
    "turnkeeper.infrastructure.providers.anthropic",
    "turnkeeper.infrastructure.providers.gemini",
    "turnkeeper.infrastructure.providers.novelai",
    "turnkeeper.infrastructure.providers.verbatim_answer",
    "turnkeeper.infrastructure.spool",
    "turnkeeper.infrastructure.telemetry.aside",
)


def test_opening_on_memory_loads_only_what_a_turn_may_need(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from turnkeeper.interfaces import Turnkeeper\n"
        "with Turnkeeper.open() as keeper:\n"
        "    print(*sys.modules)\n"
        "    keeper.configure.models()\n"
        "print(*sys.modules)"
    )
    environ = {"TURNKEEPER_STORE": "memory", "TURNKEEPER_DATA_DIR": str(tmp_path)}
    printed = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | environ,
    )

    opened, configured = (set(line.split()) for line in printed.stdout.splitlines())
    assert opened.isdisjoint(SELDOM)
    assert "turnkeeper.infrastructure.providers.openai_compatible" in opened
    assert configured & set(SELDOM) == {"turnkeeper.application.configure"}


def test_every_public_name_is_there() -> None:
    from turnkeeper import interfaces

    assert all(getattr(interfaces, name) is not None for name in interfaces.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = interfaces.Nothing
