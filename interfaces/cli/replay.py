"""A turn's decisions, taken again from its journal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from turnkeeper.domain.errors import JournalFileError
from turnkeeper.domain.redact import redact
from turnkeeper.interfaces.cli.present import dump, fail, json_option, tell

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.domain.choice import Choice
    from turnkeeper.domain.events import Entry
    from turnkeeper.domain.replay import Replay

DIFFERS, UNREADABLE = 1, 2


@click.command()
@click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))
@json_option
def replay(file: str, as_json: bool) -> None:
    """Take the decisions of exported turns again, and say where this version decides otherwise.

    FILE is what `explain --export` or `turns --export` wrote; `-` reads it from the standard
    input. Nothing is called, and no database is needed. Ends with 0 where all is decided the same,
    with 1 where something differs, with 2 where FILE cannot be read.
    """
    try:
        replays = [_again(journal) for journal in _journals(file)]
    except JournalFileError as error:
        fail(redact(str(error)), type(error).__name__, as_json=as_json)
        raise click.exceptions.Exit(UNREADABLE) from None
    for one in replays:
        _show(one, as_json=as_json)
    if any(one.differences for one in replays):
        raise click.exceptions.Exit(DIFFERS)


def _journals(file: str) -> "tuple[tuple[Entry, ...], ...]":
    from turnkeeper.infrastructure.journal_file import journals_in

    name = "the standard input" if file == "-" else file
    try:
        with click.open_file(file, encoding="utf-8") as lines:
            return journals_in(lines, name)
    except OSError as error:
        raise JournalFileError(f"{name} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise JournalFileError(f"{name} is no exported journal: it is no UTF-8 text") from None


def _again(journal: "tuple[Entry, ...]") -> "Replay":
    from turnkeeper.domain.replay import replayed

    try:
        return replayed(journal)
    except Exception as error:  # noqa: BLE001 - a file from elsewhere may hold anything
        raise JournalFileError(
            f"the journal of turn {journal[0].turn_id} contradicts itself:"
            f" {type(error).__name__}: {error}"
        ) from None


def _show(replay: "Replay", *, as_json: bool) -> None:
    from turnkeeper.interfaces.replay_words import difference_line, outcome_line

    if as_json:
        dump(_as_object(replay))
        return
    tell(outcome_line(replay))
    for line in _indented(
        (difference_line(one, replay) for one in replay.differences), replay.remarks
    ):
        tell(line)


def _indented(*groups: Iterable[str]) -> Iterable[str]:
    return (f"  {line}" for group in groups for line in group)


def _as_object(replay: "Replay") -> dict[str, Any]:
    from turnkeeper.interfaces.replay_words import difference_line

    return {
        "turn_id": replay.turn_id,
        "same": not replay.differences,
        "decisions": replay.decisions,
        "differences": [
            {
                "seq": one.seq,
                "recorded": _choice(one.recorded),
                "would": _choice(one.would),
                "text": difference_line(one, replay),
            }
            for one in replay.differences
        ],
        "remarks": list(replay.remarks),
    }


def _choice(choice: "Choice") -> dict[str, Any]:
    return {"what": choice.what, "attempt_no": choice.attempt_no, **dict(choice.details)}
