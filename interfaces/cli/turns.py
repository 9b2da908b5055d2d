"""`turnkeeper turns`: the turns that were, a page at a time."""

from typing import Any

import click

from turnkeeper.application.list_turns import MOST, ListedTurn, TurnsPage
from turnkeeper.application.ports.turn_history import TurnCursor, TurnQuery
from turnkeeper.domain.outcome import TURN_STATES
from turnkeeper.interfaces.amounts import count, in_dollars, in_full
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.journal import export_journals, export_option
from turnkeeper.interfaces.cli.owners import LOCAL, OWNER_ID, owner_of
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.instants import iso

COLUMNS = (
    "turn",
    "began",
    "status",
    "answered by",
    "attempts",
    "invocations",
    "took",
    "tokens in/out",
    "cost",
)


class Cursor(click.ParamType[TurnCursor]):
    """A place in the list, as an earlier page named it."""

    name = "cursor"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> TurnCursor:
        try:
            return value if isinstance(value, TurnCursor) else TurnCursor.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True)
@click.option("--before", type=Cursor(), help="Go on where an earlier page ended.")
@click.option("--server", "server_id", type=OWNER_ID, help=f"Of one server only, such as {LOCAL}.")
@click.option("--user", "user_id", type=OWNER_ID, help="Of one user only.")
@click.option("--status", type=click.Choice(TURN_STATES), help="That ended, or stand, so.")
@click.option("--rescued", "rescued_only", is_flag=True, help="Answered after a failure only.")
@export_option
@json_option
@click.pass_obj
def turns(
    installation: Installation,
    /,
    limit: int,
    before: TurnCursor | None,
    server_id: str | None,
    file: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """List turns, newest first, with what they took and cost."""
    query = TurnQuery(server=owner_of(server_id, None), **asked)
    with installation.container() as container:
        container.schema()
        page = container.list_turns()(query, before=before, limit=limit)
        if file is not None:
            read = container.journal().entries
            journals = [read(one.turn.turn_id) for one in page.turns]
            export_journals([one for one in journals if one], file, as_json=as_json)
            return
    if as_json:
        following = None if page.next is None else str(page.next)
        dump({"turns": [_as_data(one) for one in page.turns], "next": following})
    else:
        _tell(page, is_whole=query == TurnQuery() and before is None)


def _tell(page: TurnsPage, *, is_whole: bool) -> None:
    nothing = "no turn was run yet; try `turnkeeper demo`" if is_whole else "there is no such turn"
    table(COLUMNS, [_row(one) for one in page.turns], empty=nothing)
    if page.next is not None:
        tell(f"more: --before {page.next}")


def _row(one: ListedTurn) -> tuple[str, ...]:
    turn, line = one.turn, one.line
    return (
        turn.turn_id,
        f"{turn.opened_at:%Y-%m-%d %H:%M:%S}",
        f"{turn.status}{', rescued' if turn.rescued else ''}",
        line.answered_by or "",
        str(line.attempts),
        str(line.invocations),
        "" if one.took_s is None else f"{one.took_s:.1f} s",
        f"{count(line.input_tokens)}/{count(line.output_tokens)}",
        in_dollars(one.cost_usd),
    )


def _as_data(one: ListedTurn) -> dict[str, Any]:
    turn, line = one.turn, one.line
    return {
        "turn_id": turn.turn_id,
        "server": turn.server.id,
        "channel": turn.channel_id,
        "user": turn.user_id,
        "status": turn.status,
        "rescued": turn.rescued,
        "began_at": iso(turn.opened_at),
        "ended_at": iso(turn.ended_at),
        "took_s": one.took_s,
        "model": line.answered_by,
        "attempts": line.attempts,
        "invocations": line.invocations,
        "input_tokens": line.input_tokens,
        "output_tokens": line.output_tokens,
        "cost_usd": in_full(one.cost_usd),
    }
