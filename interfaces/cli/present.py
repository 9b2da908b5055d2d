"""How the commands print: for people, or as JSON for programs."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:  # imported where it is used, so that help is there at once
    from turnkeeper.infrastructure.console.terminal import Terminal

F = TypeVar("F", bound=Callable[..., Any])
AS_JSON = "as_json"
PLAIN_WIDTH = 200
UNSHOWN = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")
"""Control characters, which could make a terminal do what it is not told to; not the tab."""


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    context.meta[AS_JSON] = value
    return value


def json_option(command: F) -> F:
    """Give a command `--json`, which reaches it as `as_json`."""
    return click.option(
        "--json", AS_JSON, is_flag=True, callback=_remember, help="Print JSON for programs."
    )(command)


def is_json(context: click.Context) -> bool:
    """Whether the command was asked for JSON."""
    return bool(context.meta.get(AS_JSON))


def console(*, to_errors: bool = False) -> "Terminal":
    """The terminal, or whatever takes its place."""
    from turnkeeper.infrastructure.console.terminal import Terminal

    made = Terminal(stderr=to_errors, highlight=False)
    if not made.is_terminal:
        made = Terminal(stderr=to_errors, highlight=False, width=PLAIN_WIDTH)
    return made


def dump(value: Any) -> None:
    """Print one line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def tell(text: str) -> None:
    """Print a line for people."""
    from rich.text import Text

    console().print(Text(text.translate(UNSHOWN)), soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Print rows under their columns, or what to say where there are none.

    Args:
        empty: What there is not, and how to get it.
    """
    from rich.table import Column, Table
    from rich.text import Text

    listed = list(rows)
    if not listed:
        tell(empty)
        return
    heads = (Column(Text(column.translate(UNSHOWN))) for column in columns)
    drawn = Table(*heads, box=None, pad_edge=False, header_style="bold")
    for row in listed:
        drawn.add_row(*(Text(cell.translate(UNSHOWN)) for cell in row))
    console().print(drawn)


def fail(text: str, kind: str, *, as_json: bool) -> None:
    """Print an error in one red line, or as JSON, where errors go."""
    if as_json:
        click.echo(json.dumps({"error": text, "type": kind}), err=True)
        return
    from rich.text import Text

    line = " ".join(text.split()).translate(UNSHOWN)
    console(to_errors=True).print(Text(f"turnkeeper: {line}", style="red"), soft_wrap=True)


def make_printable() -> None:
    """Let a terminal that lacks a character show another in its place, and not fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def open_missing() -> None:
    """Let what was closed before the start be empty, or take everything."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open to the end


def flush() -> str | None:
    """Write what is left; says what is in the way.

    Where nobody reads any more it is dropped, and nobody complains.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return None if isinstance(error, BrokenPipeError) else unwritten(error)
    return None


def unwritten(error: OSError) -> str:
    """What is said where there is no room for what is to be written."""
    return f"not all could be written: {error.strerror}"
