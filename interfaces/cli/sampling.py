"""The options by which requests are shaped."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Sampling

F = TypeVar("F", bound=Callable[..., Any])
NAMES = tuple(field.name for field in fields(Sampling))
UNSET = "unset"

_OPTIONS = (
    click.option("--temperature", type=float, help="0 to 2."),
    click.option("--top-p", type=float, help="0 to 1."),
    click.option("--top-k", type=int, help="From 0."),
    click.option("--min-p", type=float, help="0 to 1."),
    click.option("--frequency-penalty", type=float, help="-2 to 2."),
    click.option("--presence-penalty", type=float, help="-2 to 2."),
    click.option("--stop", multiple=True, help="A text that ends the answer; may be repeated."),
    click.option(
        "--logit-bias", multiple=True, metavar="TOKEN=BIAS", help="For one token id; repeatable."
    ),
    click.option("--reasoning-effort", help="Such as auto, none, low, medium or high."),
    click.option(
        "--max-output", "max_output_tokens", type=int, help="Tokens of the longest answer."
    ),
    click.option(
        "--never-send",
        "disabled",
        multiple=True,
        metavar="PARAMETER",
        help="Leave a parameter out of all requests; repeatable.",
    ),
    click.option(
        "--unset",
        multiple=True,
        type=click.Choice(NAMES),
        help="Leave it to the model again; repeatable.",
    ),
)


def sampling_options(command: F) -> F:
    """Give a command one option for each value of a `Sampling`, and `--unset`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a sampling out of all that a command was given."""
    given = {name: options.pop(name) for name in (*NAMES, UNSET)}
    return {name: value for name, value in given.items() if value not in (None, ())}


def applied(sampling: Sampling, given: dict[str, Any]) -> Sampling:
    """The sampling with what was given."""
    named = {name: _value(name, value) for name, value in given.items() if name != UNSET}
    default = Sampling()
    forgotten = {name: getattr(default, name) for name in given.get(UNSET, ())}
    return replace(sampling, **{**forgotten, **named})


def _value(name: str, value: Any) -> Any:
    if name == "logit_bias":
        return tuple(map(_bias, value))
    return frozenset(value) if name == "disabled" else value


def _bias(text: str) -> tuple[str, float]:
    token, equals, bias = text.partition("=")
    try:
        return (token, float(bias)) if equals and token else _no_bias(text)
    except ValueError:
        return _no_bias(text)


def _no_bias(text: str) -> tuple[str, float]:
    raise click.BadParameter(f"it is written TOKEN=BIAS, such as 50256=-100, not {text!r}")
