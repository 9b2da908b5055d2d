"""The crash test: faults on purpose, and a scorecard of how turns came through them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

import click

from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import OWNER_ID
from turnkeeper.interfaces.cli.present import console, dump, json_option, tell
from turnkeeper.interfaces.cli.progress import progress

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.interfaces.crashtest.ground import Ground
    from turnkeeper.interfaces.crashtest.row import Row

COLUMNS = ("verdict", "fault", "dialect", "caller", "provider", "channel", "why")
STYLES = {
    "pass": "green",  # nosec B105
    "partial": "yellow",
    "safe": "cyan",
    "fail": "bold red",
    "n/a": "dim",
}


@click.command()
@click.option(
    "--profile",
    type=click.Choice(("fast", "full")),
    default="fast",
    show_default=True,
    help="fast lets all faults and limits last a twentieth of their time.",
)
@click.option("--fault", "faults", multiple=True, metavar="ID", help="Only this one, as S08.")
@click.option("--dialect", "dialects", multiple=True, metavar="NAME", help="Only this one.")
@click.option(
    "--server",
    "server_id",
    type=OWNER_ID,
    help="That server's models and chain, in place of built-in ones.",
)
@click.option(
    "--content-filter",
    type=click.Choice(("next", "stop")),
    help="What is done where content is refused; next by default, or what the server has set.",
)
@json_option
@click.pass_context
def crashtest(  # noqa: PLR0913 - click gives one argument an option
    context: click.Context,
    profile: str,
    faults: tuple[str, ...],
    dialects: tuple[str, ...],
    server_id: str | None,
    content_filter: str | None,
    as_json: bool,
) -> None:
    """Let providers, Discord and the database fail on purpose, and print a scorecard.

    All of it is local: walls on loopback stand in for the providers, and no key is needed.
    Ends with 0 if all faults were passed, with 1 if not.
    """
    from turnkeeper.interfaces.crashtest.crash_test import PROFILES, run_all
    from turnkeeper.interfaces.crashtest.plan import Wanted, planned
    from turnkeeper.interfaces.crashtest.report import is_passed

    pace, show = PROFILES[profile], _shower(as_json)
    policy = ContentFilterPolicy(content_filter) if content_filter else None
    with _ground(context.obj, server_id, pace.speed, policy) as ground:
        cells = planned(ground, Wanted(faults=faults, dialects=dialects))
        rows, done = [], count(1)
        with progress("met", as_json=True) as told:  # the rows are lines enough
            for row in run_all(cells, pace, on_done=lambda: told(next(done), len(cells))):
                show(row)
                rows.append(row)
        policy = ground.content_filter
    about = {"profile": profile, "server": server_id, "content_filter": policy.value}
    _tell_end(rows, as_json, about)
    context.exit(0 if is_passed(rows) else 1)


def _ground(
    installation: Installation,
    server_id: str | None,
    speed: float,
    policy: ContentFilterPolicy | None,
) -> "Ground":
    """The built-in models, or those of a server."""
    if server_id is None:
        from turnkeeper.interfaces.crashtest.ground import Ground

        return Ground(speed=speed, content_filter=policy or ContentFilterPolicy.NEXT)
    from turnkeeper.interfaces.crashtest.own_configuration import own_configuration
    from turnkeeper.interfaces.crashtest.own_ground import OwnGround

    with installation.container() as container:
        own = own_configuration(container, server_id)
    return OwnGround(own, speed=speed, content_filter=policy)


def _shower(as_json: bool) -> Callable[["Row"], None]:
    """What shows a row as soon as it is there; a terminal gets all of them in a table."""
    from turnkeeper.interfaces.crashtest.report import row_to_json

    if as_json:
        return lambda row: dump(row_to_json(row))
    if console().is_terminal:
        return lambda row: None
    return lambda row: tell(_line(row))


def _tell_end(rows: Sequence["Row"], as_json: bool, about: Mapping[str, object]) -> None:
    from turnkeeper.interfaces.crashtest.report import counts_of, summary_to_json

    if as_json:
        dump(summary_to_json(rows, **about))
        return
    if console().is_terminal:
        _tell_table(rows)
    counted = ", ".join(f"{count} {grade}" for grade, count in counts_of(rows).items() if count)
    by_choice = sum(row.score.by_choice for row in rows)
    tell(f"{counted}" + (f" ({by_choice} by choice)" if by_choice else ""))


def _line(row: "Row") -> str:
    from turnkeeper.interfaces.crashtest.report import in_words, verdict_of

    *seen, why = in_words(row)
    said = "; ".join(filter(None, (*seen, why)))
    return f"{verdict_of(row)}: {row.fault} {row.name}, {row.dialect}: {said}"


def _tell_table(rows: Sequence["Row"]) -> None:
    from rich.table import Table
    from rich.text import Text

    from turnkeeper.interfaces.crashtest.report import in_words, verdict_of

    drawn = Table(*COLUMNS, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        verdict = Text(verdict_of(row), style=STYLES[row.score.grade.value])
        about = (f"{row.fault} {row.name}", row.dialect)
        *seen, why = map(Text, in_words(row))
        drawn.add_row(verdict, *map(Text, about), *seen, why)
    console().print(drawn)
