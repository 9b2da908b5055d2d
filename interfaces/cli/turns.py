"""`turnkeeper turns`: the turns that were, a page at a time."""

from decimal import Decimal
from typing import Any

import click

from turnkeeper.application.list_turns import MOST, ListedTurn, TurnsPage
from turnkeeper.application.ports.turn_history import TurnCursor, TurnQuery
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.instants import iso
from turnkeeper.interfaces.cli.journal import export_journals, export_option
from turnkeeper.interfaces.cli.owners import LOCAL, OWNER_ID, owner_of
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell

WITHIN_A_CALL = {TurnStatus.FUNCTION_CALL}
STATUSES = (
    "running",
    *(status.value for status in TurnStatus if status not in WITHIN_A_CALL),
    "given_up",
)
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
@click.option("--status", type=click.Choice(STATUSES), help="That ended, or stand, so.")
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
    turn, spent = one.turn, one.spent
    return (
        turn.turn_id,
        f"{turn.opened_at:%Y-%m-%d %H:%M:%S}",
        f"{turn.status}{', rescued' if turn.rescued else ''}",
        one.answered_by or "",
        str(spent.attempts),
        str(spent.invocations),
        "" if one.took_s is None else f"{one.took_s:.1f} s",
        f"{_count(spent.input_tokens)}/{_count(spent.output_tokens)}",
        "unknown" if spent.cost_usd is None else f"${in_full(spent.cost_usd)}",
    )


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)


def in_full(amount: Decimal) -> str:
    """An amount without an exponent, and without needless zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _as_data(one: ListedTurn) -> dict[str, Any]:
    turn, spent = one.turn, one.spent
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
        "model": one.answered_by,
        "attempts": spent.attempts,
        "invocations": spent.invocations,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": "unknown" if spent.cost_usd is None else in_full(spent.cost_usd),
    }
