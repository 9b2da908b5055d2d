"""The groups of settings where `test_every_setting` does not look: lists, removals, refusals."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commands import Commands

from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import SETTINGS

pytestmark = pytest.mark.postgres

ANN = ("--user", "ann")
KEY, OTHER_KEY = "sk-0123456789abcdef", "sk-0123456789abcXYZ"


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Iterator[Commands]:
    with Wall() as wall:
        yield Commands(database_url, tmp_path, wall)


def leaves(command: click.Command, *names: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from leaves(inner, *names, name)
    else:
        yield " ".join(names), command


def test_every_command_that_sets_or_shows_settings_prints_json() -> None:
    lacking = [
        path
        for group in SETTINGS
        for path, command in leaves(group, group.name or "")
        if "--json" not in {option for param in command.params for option in param.opts}
    ]
    assert lacking == []


# ── whose settings ──────────────────────────────────────────────────────────────────────────


def test_servers_and_users_are_listed_once_they_have_set_something(run: Commands) -> None:
    assert "no server has set anything yet" in run.done("server", "list").stdout
    assert "no user has set anything yet" in run.done("user", "list").stdout
    run.done("server", "set", "--server", "guild", "--lend-models")
    run.done("user", "set", *ANN, "--no-server-fallback")

    assert run.data("server", "list") == ["guild"]
    assert run.data("user", "list") == ["ann"]
    assert run.done("user", "list").stdout.split() == ["user", "ann"]


def test_what_is_reset_is_as_before(run: Commands) -> None:
    before = run.data("server", "show"), run.data("user", "show", *ANN)
    run.done("server", "set", "--temperature", "1", "--member-keys-only")
    run.done("user", "set", *ANN, "--no-server-fallback")

    after = run.data("server", "reset"), run.data("user", "reset", *ANN)

    assert after == before


def test_people_see_a_table_and_what_is_broken(run: Commands) -> None:
    run.done("model", "add", "openai:a")
    run.done("model", "use", "openai:a")
    run.done("server", "set", "--logit-bias", "5=-100", "--stop", "END", "--member-keys-only")

    rows = dict(
        line.split(maxsplit=1) for line in run.done("server", "show").stdout.strip().splitlines()
    )

    assert {name: text.strip() for name, text in rows.items()} == {
        "server": "local",
        "primary": "openai:a",
        "randomizer": "no",
        "member_keys_only": "yes",
        "content_filter": "next",
        "sampling.stop": "END",
        "sampling.logit_bias": "5=-100",
        "cooldown.type": "off",
        "cooldown.length_s": "5",
        "quota.enabled": "no",
        "quota.daily_per_user": "0",
        "quota.server_wide": "0",
        "quota.period_days": "1",
    }


@pytest.mark.parametrize(
    "command",
    [
        ("model", "set", "x"),
        ("server", "set"),
        ("provider", "set", "openai"),
        ("quota", "set"),
        ("channel", "set", "7"),
        ("endpoint", "add", "den"),
        ("user", "set", *ANN),
        ("user", "show"),
        ("server", "set", "--logit-bias", "5"),
        ("server", "set", "--logit-bias", "5=x"),
        ("server", "set", "--unset", "colour"),
        ("provider", "set", "openai", "--text"),
        ("randomizer", "on", "--provider", "openai"),
        ("provider", "list", "--server", "1", *ANN),
        ("cooldown", "set", "sometimes"),
        ("cooldown", "set", "strict", "--seconds", "0"),
        ("quota", "set", "--per-user", "101"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_a_usage_error(run: Commands, command: tuple[str, ...]) -> None:
    result = run(*command)

    assert (result.exit_code, result.stdout) == (2, "")


# ── models, endpoints, keys ─────────────────────────────────────────────────────────────────


def test_a_model_is_shown_and_forgotten_once_nobody_uses_it(run: Commands) -> None:
    run.done("model", "add", "openai:a", "--window", "9", "--strict-role-alternation")
    run.done("model", "use", "openai:a")
    shown = run.data("model", "show", "a")

    said = run.refused("model", "remove", "a")
    run.done("model", "clear")
    removed = run.data("model", "remove", "a")

    assert said == "openai:a is used by server:local; set other models there first"
    assert removed == shown
    assert (shown["limits"]["window_tokens"], shown["capabilities"]["strict_role_alternation"]) == (
        9,
        True,
    )
    assert run.data("model", "list") == []


def test_what_is_known_of_a_model_is_changed_or_said_anew(run: Commands) -> None:
    model = '[[models]]\nid = "google:g"\nprovider = "google"\nname = "g"\nprice_in_per_mtok = 2.5'
    file = f"format = 1\nserver = 'x'\n{model}\n[models.limits]\nmax_output_tokens = 7\n"
    run.done("import", "-", typed=file)

    set_ = run.data("model", "set", "google:g", "--window", "99", "--images", "--no-tools")
    added = run.data("model", "add", "gemini:g", "--images")

    assert set_["limits"] == {"window_tokens": 99, "max_output_tokens": 7}
    assert (set_["capabilities"]["images"], set_["capabilities"]["tools"]) == (True, False)
    assert added["limits"] == {"window_tokens": None, "max_output_tokens": None}
    assert (added["capabilities"]["images"], added["capabilities"]["tools"]) == (True, True)
    assert [one["price_in_per_mtok"] for one in (set_, added)] == [2.5, 2.5]
    assert run.data("model", "list") == [added]
    assert "no model 'x' is registered" in run.refused("model", "set", "x", "--images")


def test_an_endpoint_is_listed_and_removed_once_nobody_uses_it(run: Commands) -> None:
    run.done("endpoint", "add", "den", "--url", "https://host/v1", "--no-requires-auth")
    run.done("model", "use", "endpoint:1")

    (listed,) = run.data("endpoint", "list")
    said = run.refused("endpoint", "remove", "1")
    run.done("model", "clear")
    removed = run.data("endpoint", "remove", "1")

    assert (listed["label"], listed["provider"], listed["requires_auth"]) == (
        "den",
        "custom",
        False,
    )
    assert said.startswith("server:local still uses endpoint:1")
    assert removed == listed
    assert "endpoint add LABEL" in run.done("endpoint", "list").stdout
    assert run.refused("endpoint", "show", "1") == "server:local has no endpoint 1; there are: none"


def test_a_key_is_switched_off_and_on_and_replaced(run: Commands) -> None:
    run.done("key", "add", "openai", typed=KEY)
    (known,) = run.data("key", "list")

    off = run.data("key", "disable", str(known["id"]))
    on = run.data("key", "enable", str(known["id"]))
    replaced = run.done("key", "replace", str(known["id"]), "--json", typed=OTHER_KEY)

    assert (off["enabled"], on["enabled"]) == (False, True)
    assert json.loads(replaced.stdout)["ends_in"] == "cXYZ"
    assert run("key", "replace", str(known["id"]), KEY[3:]).exit_code == 2


def test_what_is_not_set_is_not_removed(run: Commands) -> None:
    assert "no model and no cooldown for channel '7'" in run.refused("channel", "remove", "7")
    assert "no model for persona 'zoe'" in run.refused("persona", "remove", "zoe")
    assert "nothing set for 'openai'" in run.refused("provider", "remove", "openai")
    assert "has no provider 'openai'" in run.refused("provider", "remove", "openai", *ANN)
    assert "has no fallback 'a'" in run.refused("fallback", "remove", "a")


def test_a_channels_model_goes_and_its_cooldown_stays(run: Commands) -> None:
    run.done("model", "add", "openai:a")
    run.done("channel", "set", "7", "--model", "a", "--cooldown", "strict", "--seconds", "9")

    left = run.data("channel", "remove", "7", "--model")

    rule = {"type": "strict", "length_s": 9}
    assert left == {"server": "local", "channels": [{"id": "7", "model": None, "cooldown": rule}]}


def test_a_users_models_are_listed_in_their_order(run: Commands) -> None:
    for name in ("openai:a", "openai:b"):
        run.done("model", "add", name)
    run.done("model", "use", "a", *ANN)
    run.done("fallback", "set", "b", *ANN)

    listed = run.data("randomizer", "on", *ANN)

    expected = {"user": "ann", "primary": "openai:a", "fallbacks": ["openai:b"], "randomizer": True}
    assert listed == run.data("fallback", "list", *ANN) == expected
    assert run.data("fallback", "clear", *ANN)["fallbacks"] == []


# ── files ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def file(run: Commands, tmp_path: Path) -> Path:
    """The export of a server with a model, a quota and a key."""
    run.done("model", "add", "openai:a")
    run.done("model", "use", "a")
    run.done("quota", "set", "--per-user", "3")
    run.done("key", "add", "openai", typed=KEY)
    path = tmp_path / "local.toml"
    run.done("export", "--output", str(path))
    return path


def test_a_server_is_exported_without_its_keys_and_imported_as_another(
    run: Commands, file: Path
) -> None:
    assert run.done("export").stdout == file.read_text()
    assert "cdef" not in file.read_text()

    told = run.done("import", str(file), "--server", "two").stdout

    assert "a key is missing: turnkeeper key add openai --server two" in told
    assert told.splitlines()[-1] == "changed 3 settings of server:two"
    here, there = run.data("server", "show"), run.data("server", "show", "--server", "two")
    assert there == {**here, "server": "two"}


def test_a_dry_run_changes_nothing(run: Commands, file: Path) -> None:
    would = run.data("import", str(file), "--server", "two", "--dry-run")

    assert run.data("server", "list") == ["local"]
    assert would == {
        "owner": "server:two",
        "changes": [
            {"place": "primary", "before": "not set", "after": "openai:a"},
            {"place": "quota.enabled", "before": "no", "after": "yes"},
            {"place": "quota.daily_per_user", "before": "0", "after": "3"},
        ],
        "new_models": [],
        "kept_models": [],
        "missing_keys": ["openai"],
        "dry_run": True,
    }


def test_a_file_is_read_from_standard_input(run: Commands, file: Path) -> None:
    result = run.done("import", "-", "--json", typed=file.read_text())

    assert json.loads(result.stdout)["changes"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('format = 1\nserver = "a"\nprimary = "x"', "primary: no model 'x' is described in it"),
        ('format = 1\nserver = "a"\ncolour = 1', "colour: there is no such setting"),
        ('format = 1\nuser = "a"', "it has the settings of a user, which no server has"),
        ("format", "it is no TOML"),
        ("\udcff", "byte 0 is no UTF-8"),
    ],
)
def test_a_file_that_cannot_be_imported_changes_nothing(
    run: Commands, tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))

    refused = run.refused("import", str(path), "--server", "two")

    assert refused.startswith(f"{path} cannot be imported: {said}")
    assert run.data("server", "list") == []


def test_a_file_that_is_not_there_is_named(run: Commands, tmp_path: Path) -> None:
    assert run.refused("import", str(tmp_path / "no.toml")).endswith(
        "it cannot be read: No such file or directory"
    )
    assert "cannot be written" in run.refused("export", "--output", str(tmp_path / "no" / "x"))
