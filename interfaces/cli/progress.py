"""How far a long command is: a bar at a terminal, plain lines elsewhere; always where errors go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

import click

from turnkeeper.interfaces.cli.present import console

PARTS = 20
"""A line is printed each time another twentieth is done."""


class Told(Protocol):
    """Is told how far it is. Safe to call from several threads."""

    def __call__(self, done: int, total: int | None = None, /) -> None:
        """So many are done, of so many in all, or of nobody knows how many (None)."""
        ...


@contextmanager
def progress(word: str, *, as_json: bool = False) -> Iterator[Told]:
    """Show how far a command is, for the time of a `with`.

    Standard output is left to what the command says. Beside JSON there is a bar at a terminal, and
    no line, so that a program may read the standard error too.

    Args:
        word: What becomes of each, such as "resealed".
    """
    shown = console(to_errors=True)
    if shown.is_terminal:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn(word), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=shown) as bar:
            task = bar.add_task(word, total=None)
            yield lambda done, total=None: bar.update(task, completed=done, total=total)
    else:
        yield _unseen if as_json else Lines(word, _print)


class Lines:
    """Says how far it is in lines, so few that they can be read: each twentieth, or each doubling.

    Args:
        write: Prints a line.
    """

    def __init__(self, word: str, write: Callable[[str], None]) -> None:
        self._word = word
        self._write = write
        self._next = 0.0
        self._lock = Lock()

    def __call__(self, done: int, total: int | None = None, /) -> None:
        with self._lock:
            if done < self._next and done != total:
                return
            self._next = done + max(1.0, done if total is None else total / PARTS)
            of_all = "" if total is None else f" of {total}"
            self._write(f"{self._word} {done}{of_all}")


def _print(line: str) -> None:
    click.echo(line, err=True)


def _unseen(done: int, total: int | None = None, /) -> None:
    """Where nobody is to see it."""
