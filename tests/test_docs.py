"""The pages say what is so: metrics, settings, and a tutorial that can be followed."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from prometheus_client import CollectorRegistry

from turnkeeper import interfaces
from turnkeeper.application.configure import Configure
from turnkeeper.infrastructure.telemetry.dropped import Dropped
from turnkeeper.infrastructure.telemetry.key_states import KeyStates
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.container import built, shut_down
from turnkeeper.interfaces.settings import Settings, variables

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MAIN = "from turnkeeper.interfaces.cli import main; main()"
NOT_SETTINGS = {
    "TURNKEEPER_DISCORD_PUBLIC_KEY",
    "TURNKEEPER_RECORDINGS",
    "TURNKEEPER_SECRET_CURRENT",
}
"""What only a command or the tests read, and the numbered secrets."""
FIRST_KEY, SECOND_KEY = "sk-first-0123456789", "sk-second-9876543210"

# ── metrics ─────────────────────────────────────────────────────────────────────────────────

OF_PROMETHEUS = {"le"}


class Known:
    """All metrics that there are, by the names of their samples, with their labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.by_sample: dict[str, set[str]] = {}
        for collector, names in registry._collector_to_names.items():
            families: Any = [collector]
            if isinstance(collector, KeyStates | Dropped):
                families = collector.describe()
            for family in families:
                of_it = {name for name in names if name.startswith(getattr(family, "name", ""))}
                self.by_sample |= {name: set(family._labelnames) for name in of_it}

    @property
    def families(self) -> set[str]:
        """The names by which people know them."""
        parts = ("_bucket", "_sum", "_count", "_created")
        shown = {name for name in self.by_sample if not name.endswith(parts)}
        return {name for name in shown if f"{name}_total" not in shown}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    container = built(Settings(store="memory", data_dir=tmp_path_factory.mktemp("data")), {})
    container.counts()
    yield Known(container.metrics_registry())
    shut_down(container)


def expressions() -> list[str]:
    dashboard = json.loads((DOCS / "grafana" / "turnkeeper.json").read_text())
    rules = yaml.safe_load((DOCS / "alerts.yml").read_text())
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return shown + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("expression", expressions())
def test_dashboard_and_alerts_ask_for_what_there_is(expression: str, known: Known) -> None:
    names = set(re.findall(r"turnkeeper_\w+", expression))
    listed = re.findall(r"by \(([\w, ]+)\)", expression)
    asked = {name.strip() for names in listed for name in names.split(",")}
    asked |= set(re.findall(r"[{,]\s*(\w+)\s*=~?\"", expression))

    assert names
    assert names <= set(known.by_sample)
    labels = set().union(*(known.by_sample[name] for name in names))
    assert asked - OF_PROMETHEUS <= labels


def test_the_dashboard_shows_every_metric(known: Known) -> None:
    dashboard = (DOCS / "grafana" / "turnkeeper.json").read_text()

    assert {name for name in known.families if name not in dashboard} == set()


def test_the_page_lists_every_metric_with_its_labels(known: Known) -> None:
    rows = re.findall(
        r"^\| `(turnkeeper_\w+)` \| ([\w, ]*)\|", (DOCS / "how-to" / "metrics.md").read_text(), re.M
    )

    listed = {name: set(filter(None, re.split(r"[, ]+", labels))) for name, labels in rows}
    assert listed == {name: known.by_sample[name] for name in known.families}


# ── settings ────────────────────────────────────────────────────────────────────────────────


def settings_page() -> Any:
    spec = importlib.util.spec_from_file_location("settings_page", DOCS / "settings_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_settings_is_up_to_date() -> None:
    assert (DOCS / "settings.md").read_text() == settings_page().page()


def test_the_page_of_settings_leaves_none_out() -> None:
    page = (DOCS / "settings.md").read_text()

    assert [name for name in variables() if f"| `{name}` |" not in page] == []


# ── the tutorial ────────────────────────────────────────────────────────────────────────────


def blocks(kind: str) -> list[str]:
    """What stands in the tutorial's blocks of this kind."""
    text = (DOCS / "tutorial.md").read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_the_tutorial_can_be_followed(database_url: str, tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    main = f'#!/bin/sh\nexec "{sys.executable}" -c "{MAIN}" "$@"\n'
    python = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    for name, text in (("turnkeeper", main), ("python", python)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (program,) = blocks('python title="bot.py"')
    (home / "bot.py").write_text(program)

    with Wall() as wall:
        wall.script(Refuse(status=429), key=FIRST_KEY)
        wall.script([Answer(text="She keeps the lamp."), Refuse(status=503)], key=SECOND_KEY)
        wall.script(Answer(text="She lights the spare."), model="maker/small", key=SECOND_KEY)
        environ = {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "FIRST_KEY": FIRST_KEY,
            "SECOND_KEY": SECOND_KEY,
            "TURNKEEPER_DATABASE_URL": database_url,
            "TURNKEEPER_DATA_DIR": str(tmp_path / "data"),
            "TURNKEEPER_BASE_URLS": json.dumps({"openrouter": wall.base_url}),
        }
        script = "set -e\n" + "".join(blocks("sh"))
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=home,
            env=os.environ | environ,
            capture_output=True,
            text=True,
            timeout=280,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "She keeps the lamp." in done.stdout
    assert "She lights the spare." in done.stdout
    assert "[completed by maker/small]" in done.stdout
    assert SECOND_KEY not in done.stdout


# ── all pages ───────────────────────────────────────────────────────────────────────────────

PAGES = sorted(DOCS.rglob("*.md"), key=str)


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_its_python_can_be_read(page: Path) -> None:
    for code in re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text(), re.M | re.S):
        compile(code, name_of(page), "exec")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_it_names_is_there(page: Path) -> None:
    text = page.read_text()
    public = re.findall(r"from turnkeeper\.interfaces import \(?([\w,\s]+?)\)?\n\n", text)
    settings = set(re.findall(r"\bTURNKEEPER_[A-Z_]+[A-Z]\b", text)) - NOT_SETTINGS
    commands = re.findall(r"(?:`|\$ )turnkeeper (\w+)", text)
    calls = re.findall(r"(?:keeper\.|`)configure\.(\w+)", text)

    assert set(calls) <= {*dir(Configure)}
    assert set(re.findall(r"\w+", " ".join(public))) <= {*interfaces.__all__}
    assert settings <= {*variables()}
    assert set(commands) <= {*program.commands}


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()

    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert {page for page in pages if f"- {page}\n" not in menu} == set()


def test_every_page_is_plain_of_other_hosts() -> None:
    for page in DOCS.rglob("*.md"):
        text = page.read_text()
        assert "<script" not in text
        assert not re.search(r"!\[[^\]]*\]\(https?:", text), page
