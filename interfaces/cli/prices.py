"""`turnkeeper model price`: what models cost."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click

from turnkeeper.application.list_turns import prices_of
from turnkeeper.domain.model import Model
from turnkeeper.domain.price import Price
from turnkeeper.interfaces.amounts import in_full
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import dump, json_option, table


class Amount(click.ParamType[Decimal]):
    """A decimal number."""

    name = "usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Decimal:
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is no decimal number; write it as 2.50", param, ctx)


@click.group()
def price() -> None:
    """Set, show and remove what models cost, for `turnkeeper turns`."""


@price.command("set")
@click.argument("name", metavar="MODEL")
@click.option("--input", "each_in", type=Amount(), required=True, help="A million input tokens.")
@click.option("--output", "each_out", type=Amount(), required=True, help="A million output tokens.")
@json_option
@click.pass_obj
def set_price(
    installation: Installation, name: str, each_in: Decimal, each_out: Decimal, as_json: bool
) -> None:
    """Store what MODEL costs, in US dollars a million tokens."""
    with installation.turnkeeper() as keeper:
        priced = keeper.configure.set_price(name, Price(input=each_in, output=each_out))
    _show((priced,), as_json)


@price.command("show")
@click.argument("name", metavar="[MODEL]", required=False)
@json_option
@click.pass_obj
def show(installation: Installation, name: str | None, as_json: bool) -> None:
    """Show what MODEL costs; what all models cost, if none is named."""
    with installation.turnkeeper() as keeper:
        configure = keeper.configure
        models = configure.models() if name is None else (configure.find_model(name),)
    _show(models, as_json)


@price.command("remove")
@click.argument("name", metavar="MODEL")
@json_option
@click.pass_obj
def remove(installation: Installation, name: str, as_json: bool) -> None:
    """Forget what MODEL costs."""
    with installation.turnkeeper() as keeper:
        _show((keeper.configure.remove_price(name),), as_json)


def _show(models: tuple[Model, ...], as_json: bool) -> None:
    known = prices_of(models)
    rows = [(model.id, *_in_words(known.get(model.id))) for model in models]
    if as_json:
        names = ("model", "input", "output")
        dump({"usd_per_million_tokens": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    table(
        ("model", "input, $ a million", "output, $ a million"),
        rows,
        empty="no model is registered; add one with `turnkeeper model add PROVIDER:NAME`",
    )


def _in_words(found: Price | None) -> tuple[str, str]:
    amounts = (None, None) if found is None else (found.input, found.output)
    return (in_full(amounts[0]), in_full(amounts[1]))
