"""The options that say what a model can do."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Capabilities

F = TypeVar("F", bound=Callable[..., Any])
COUNT = click.IntRange(1, 2**63 - 1)
"""As many of something as the store can hold."""
_MEANING = {
    "tools": "It calls tools.",
    "images": "It sees images.",
    "videos": "It sees videos.",
    "reasoning": "It thinks before it answers.",
    "prefix_completion": "It goes on from a given beginning.",
    "strict_role_alternation": "Roles must take turns.",
    "verbatim_tool_calling": "It writes tool calls as text.",
}


def capability_options(command: F) -> F:
    """Give a command one option for each capability, which is None if it is not given."""
    for name, meaning in reversed(_MEANING.items()):
        dashed = name.replace("_", "-")
        option = click.option(f"--{dashed}/--no-{dashed}", name, default=None, help=meaning)
        command = option(command)
    return command


def capable(can: Capabilities, options: dict[str, Any]) -> Capabilities:
    """The capabilities with what was given, which is taken out of the options."""
    given = {name: options.pop(name, None) for name in _MEANING}
    return replace(can, **{name: value for name, value in given.items() if value is not None})
