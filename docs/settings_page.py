"""Writes the page of all settings, from the settings themselves: `python docs/settings_page.py`."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

from turnkeeper.domain.policy import TimeLimits, TurnPolicy
from turnkeeper.interfaces.providers import key_variables
from turnkeeper.interfaces.settings import Settings, variable_of

PAGE = Path(__file__).parent / "settings.md"
IN_MILLISECONDS = {"silence_ms": "silence_s", "settle_ms": "settle_s", "tool_ms": "tool_s"}
GROUPS = (
    ("This installation", "database_url", "master_secrets"),
    ("How hard turns try", "max_keys", "min_prompt_tokens"),
    ("How long things may take", "connect_s", "tool_ms"),
    ("Providers and destinations", "openrouter_attribution", "send_failure_retry_minutes"),
)
"""A heading, and the first and the last of its fields."""

HEAD = """# Settings

All of them are read from the environment once, when a turnkeeper opens; an empty variable counts as
none. In code they are the fields of `Settings`, by the names in small letters. Lists and maps are
written as JSON. A name that ends in `_S` is in seconds, in `_MS` in milliseconds.

This page is made by `make docs` from `interfaces/settings.py`.
"""
KEYS = """## Keys of providers

`turnkeeper run` takes a key from the environment where the server has saved none. The library
itself reads none of these.

| variable | provider |
| --- | --- |
"""


def page() -> str:
    """The whole page."""
    names = list(Settings.model_fields)
    words = {**_words(TurnPolicy), **_words(TimeLimits), **_words(Settings)}
    parts = [HEAD]
    for title, first, last in GROUPS:
        group = names[names.index(first) : names.index(last) + 1]
        table = "\n".join(_row(name, words) for name in group)
        parts.append(f"## {title}\n\n| variable | default | what |\n| --- | --- | --- |\n{table}\n")
    rows = (f"| `{variable}` | {', '.join(names)} |\n" for variable, names in key_variables())
    return "\n".join([*parts, KEYS + "".join(rows)])


def _row(name: str, words: dict[str, str]) -> str:
    if name == "master_secrets":
        return f"| `TURNKEEPER_SECRET_V1`, `_V2` …, `_CURRENT` | | {words[name]} |"
    default = Settings.model_fields[name].default
    what = words[IN_MILLISECONDS.get(name, name)]
    return f"| `{variable_of(name)}` | {_shown(default)} | {what} |"


def _shown(default: Any) -> str:
    return "" if default is None else f"`{default if isinstance(default, str) else _json(default)}`"


def _json(default: Any) -> str:
    whole = isinstance(default, float) and default.is_integer()
    return json.dumps(int(default) if whole else default)


def _words(kind: type) -> dict[str, str]:
    """What a class's docstring says of each attribute."""
    block = inspect.getdoc(kind) or ""
    block = block.partition("Attributes:\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \w)", f"\n{block}"):
        name, _, text = entry.strip().partition(":")
        plain = re.sub(r" ?\([A-Z_]+\)", "", " ".join(text.split()))
        found[name] = plain.replace("``", "`").replace("|", "\\|")
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
