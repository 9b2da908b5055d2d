"""`turnkeeper pool`: the saved keys as they stand, and what to tidy up."""

from datetime import datetime
from typing import Any

import click

from turnkeeper.application.saved_pools import KeyView, PoolsSeen, PoolView
from turnkeeper.domain.key_condition import KeyCondition, KeyState
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.instants import iso, until
from turnkeeper.interfaces.cli.owners import owner_of, owner_options
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell

HALF_OPEN = frozenset({KeyState.PROBE_DUE, KeyState.PROBED})


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
        tell(f"{one.owner}, {one.provider}: {_in_words(one, seen.now)}")
        rows = [_row(view, seen.now) for view in one.keys]
        table(("key", "ends in", "state", "until", "uses", "errors", "last error"), rows, empty="")
        for view in one.keys:
            for advice in advices(view):
                tell(f"  key {view.saved.key.id}: {advice}")


def _in_words(pool: PoolView, now: datetime) -> str:
    if pool.is_dry:
        return f"dry; {_back(pool.back_at, now)}"
    dry = [f"dry for {model}; {_back(back_at, now)}" for model, back_at in pool.dry_for]
    return "; ".join(dry) or "a key can be lent"


def _back(back_at: datetime | None, now: datetime) -> str:
    if back_at is None:
        return "no key comes back by itself"
    return f"the next key is back at {until(back_at, now)}"


def in_words(condition: KeyCondition) -> str:
    """How a key stands, in words."""
    half = "half open, " if condition.state in HALF_OPEN else ""
    return f"{half}{condition.state.value}"


def _row(view: KeyView, now: datetime) -> tuple[str, ...]:
    saved, health = view.saved, view.saved.key.health
    last = f"{health.last_error[0].value}: {health.last_error[1]}" if health.last_error else ""
    return (
        f"{saved.key.id}{' main' if saved.key.is_main else ''}",
        f"…{saved.hint}" if saved.hint else "",
        in_words(view.condition) + _for_models(view, now),
        until(view.condition.until, now),
        str(health.usage_count),
        str(health.error_count),
        " ".join(last.split())[:60],
    )


def _for_models(view: KeyView, now: datetime) -> str:
    health = view.saved.key.health
    models = [rest.model for rest in health.model_rests if rest.until > now]
    if health.rest_model is not None and health.rests_until and health.rests_until > now:
        models.append(health.rest_model)
    return f" for {', '.join(sorted(models))}" if models else ""


def advices(view: KeyView) -> tuple[str, ...]:
    """What to tidy up about a key."""
    key, found = view.saved.key, []
    if view.same_as:
        found.append(f"the same as {', '.join(view.same_as)}: they share one limit")
    if view.is_never_used:
        found.append("never used")
    if key.health.disabled:
        found.append(f"refused by the provider: `turnkeeper key remove {key.id}`, or replace it")
    elif view.is_refused_repeatedly:
        found.append(f"failed {key.health.error_count} times since it last worked")
    if view.condition.state is KeyState.SHUT:
        found.append("does not open: check the master secret with `turnkeeper secrets audit`")
    return tuple(found)


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
