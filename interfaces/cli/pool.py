"""`turnkeeper pool`: the saved keys as they stand, and what to tidy up."""

from datetime import datetime
from typing import Any

import click

from turnkeeper.application.saved_pools import KeyView, PoolsSeen, PoolView
from turnkeeper.domain.key_condition import HALF_OPEN
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_of, owner_options
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.instants import iso, until
from turnkeeper.interfaces.pool_words import advices, in_words, lending, limits


@click.command()
@owner_options
@click.option("--provider", help="Of one provider only.")
@json_option
@click.pass_obj
def pool(
    installation: Installation,
    server_id: str | None,
    user_id: str | None,
    provider: str | None,
    as_json: bool,
) -> None:
    """Show how each saved key stands, when a dry pool comes back, and what to tidy up.

    Of all owners, if none is named. No key is lent or shown.
    """
    owner = owner_of(server_id, user_id)
    with installation.container() as container:
        container.schema()
        name = provider and container.configure().find_provider(provider)
        seen = container.pools()(owner, name)
    if as_json:
        dump({"now": iso(seen.now), "pools": [_as_data(one) for one in seen.pools]})
    else:
        _tell(seen)


def _tell(seen: PoolsSeen) -> None:
    if not seen.pools:
        tell("no key is saved; add one with `turnkeeper key add PROVIDER`")
    for one in seen.pools:
        tell(f"{one.owner}, {one.provider}: {lending(one, seen.now)}")
        rows = [_row(view, seen.now) for view in one.keys]
        table(("key", "ends in", "state", "until", "uses", "errors", "last error"), rows, empty="")
        for view in one.keys:
            for advice in advices(view):
                tell(f"  key {view.saved.key.id}: {advice}")


def _row(view: KeyView, now: datetime) -> tuple[str, ...]:
    saved, health = view.saved, view.saved.key.health
    last = f"{health.last_error[0].value}: {health.last_error[1]}" if health.last_error else ""
    return (
        f"{saved.key.id}{' main' if saved.key.is_main else ''}",
        f"…{saved.hint}" if saved.hint else "",
        ", ".join(filter(None, (in_words(view.condition), limits(view, now)))),
        until(view.condition.until, now),
        str(health.usage_count),
        str(health.error_count),
        " ".join(last.split())[:60],
    )


def _as_data(pool: PoolView) -> dict[str, Any]:
    return {
        "owner": str(pool.owner),
        "provider": pool.provider,
        "is_dry": pool.is_dry,
        "back_at": iso(pool.back_at),
        "dry_for": {model: iso(back_at) for model, back_at in pool.dry_for},
        "keys": [_key_as_data(view) for view in pool.keys],
    }


def _key_as_data(view: KeyView) -> dict[str, Any]:
    key = view.saved.key
    health = key.health
    error_class, error_text = health.last_error or (None, None)
    return {
        "id": key.id,
        "ends_in": view.saved.hint,
        "is_main": key.is_main,
        "enabled": key.enabled,
        "state": view.condition.state.value,
        "until": iso(view.condition.until),
        "is_half_open": view.condition.state in HALF_OPEN,
        "rests_for_model": health.rest_model,
        "model_rests": {rest.model: iso(rest.until) for rest in health.model_rests},
        "in_flight": health.in_flight,
        "uses": health.usage_count,
        "errors": health.error_count,
        "last_leased_at": iso(health.last_leased_at),
        "last_error_kind": error_class.value if error_class else None,
        "last_error": error_text,
        "same_as": list(view.same_as),
        "is_never_used": view.is_never_used,
        "is_refused_repeatedly": view.is_refused_repeatedly,
    }
