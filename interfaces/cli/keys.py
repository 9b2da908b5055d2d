"""Saved keys: added, listed, changed. A key comes from standard input or a hidden prompt."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.key_condition import condition_of
from turnkeeper.domain.rotation import KeyId
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import owner_of, owner_options, owner_or_local
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.instants import until
from turnkeeper.interfaces.pool_words import in_words

if TYPE_CHECKING:  # imported where it is used, so that help is there at once
    from turnkeeper.interfaces.turnkeeper import Turnkeeper

LONGEST_KEY_BYTES = 65_536


@click.group()
def key() -> None:
    """Save, list, change and remove provider keys."""


@key.command("add", context_settings={"allow_extra_args": True})
@click.argument("provider")
@owner_options
@click.option("--main", "is_main", is_flag=True, help="Make it the owner's main key.")
@json_option
@click.pass_context
def add(
    context: click.Context,
    provider: str,
    server_id: str | None,
    user_id: str | None,
    is_main: bool,
    as_json: bool,
) -> None:
    """Save a key for PROVIDER, read from standard input or asked for."""
    _refuse_arguments(context)
    owner = owner_or_local(server_id, user_id)
    typed = _typed(provider)
    with context.obj.turnkeeper() as keeper:
        saved = keeper.configure.add_key(owner, provider, typed, is_main=is_main)
        _tell_saved("saved", saved, as_json)


@key.command("list")
@owner_options
@click.option("--provider", help="Of one provider only.")
@json_option
@click.pass_obj
def list_keys(
    installation: Installation,
    server_id: str | None,
    user_id: str | None,
    provider: str | None,
    as_json: bool,
) -> None:
    """List the saved keys; none is ever shown."""
    with installation.turnkeeper() as keeper:
        saved = keeper.configure.saved_keys(owner_of(server_id, user_id), provider)
    if as_json:
        dump([_as_data(one) for one in saved])
        return
    now = datetime.now(UTC)
    table(
        ("id", "owner", "provider", "ends in", "main", "uses", "errors", "state"),
        [_row(one, now) for one in saved],
        empty="no key is saved; add one with `turnkeeper key add PROVIDER`",
    )


@key.command("replace", context_settings={"allow_extra_args": True})
@click.argument("key_id", type=int)
@json_option
@click.pass_context
def replace(context: click.Context, key_id: int, as_json: bool) -> None:
    """Put another key in the place of that one, read from standard input or asked for."""
    _refuse_arguments(context)
    with context.obj.turnkeeper() as keeper:
        found = _found(keeper, key_id)
        typed = _typed(found.provider)
        _tell_saved(
            "replaced", keeper.configure.replace_key(found.owner, KeyId(key_id), typed), as_json
        )


@key.command("enable")
@click.argument("key_id", type=int)
@json_option
@click.pass_obj
def enable(installation: Installation, key_id: int, as_json: bool) -> None:
    """Let the key of that id take part again; one that was refused gets another chance."""
    with installation.turnkeeper() as keeper:
        owner = _found(keeper, key_id).owner
        _tell_saved("enabled", keeper.configure.enable_key(owner, KeyId(key_id)), as_json)


@key.command("disable")
@click.argument("key_id", type=int)
@json_option
@click.pass_obj
def disable(installation: Installation, key_id: int, as_json: bool) -> None:
    """Leave the key of that id out of all turns, and keep it."""
    with installation.turnkeeper() as keeper:
        owner = _found(keeper, key_id).owner
        _tell_saved("disabled", keeper.configure.enable_key(owner, KeyId(key_id), False), as_json)


@key.command("remove")
@click.argument("key_id", type=int)
@json_option
@click.pass_obj
def remove(installation: Installation, key_id: int, as_json: bool) -> None:
    """Forget the key of that id."""
    with installation.turnkeeper() as keeper:
        found = _found(keeper, key_id)
        keeper.configure.remove_key(found.owner, KeyId(key_id))
        _tell_saved("removed", found, as_json)


def _refuse_arguments(context: click.Context) -> None:
    if context.args:  # not named, since it may be the key
        raise click.UsageError("a key is no argument, which others could read: pipe it in")


def _found(keeper: "Turnkeeper", key_id: int) -> SavedKey:
    for saved in keeper.configure.saved_keys():
        if saved.key.id == key_id:
            return saved
    raise SettingsError(f"there is no key {key_id}; see `turnkeeper key list`")


def _tell_saved(done: str, saved: SavedKey, as_json: bool) -> None:
    if as_json:
        dump(_as_data(saved))
    else:
        tell(f"{done} key {saved.key.id}{_ending(saved)} of {saved.owner} for {saved.provider}")


def _typed(provider: str) -> str:
    """The key as it was typed or piped in; white space around it is for others to trim."""
    if sys.stdin.isatty():
        return str(click.prompt(f"Key for {provider}", hide_input=True))
    piped = sys.stdin.buffer.read(LONGEST_KEY_BYTES)
    if not piped.strip():
        raise click.UsageError("standard input holds no key: pipe it in, or run it at a terminal")
    return piped.decode("utf-8", "replace")


def _as_data(saved: SavedKey) -> dict[str, Any]:
    health = saved.key.health
    return {
        "id": saved.key.id,
        "owner": str(saved.owner),
        "provider": saved.provider,
        "ends_in": saved.hint,
        "is_main": saved.key.is_main,
        "enabled": saved.key.enabled,
        "opens": saved.opens,
        "uses": health.usage_count,
        "errors": health.error_count,
        "rests_until": health.rests_until.isoformat() if health.rests_until else None,
        "disabled": health.disabled,
        "created_at": saved.created_at.isoformat(),
    }


def _row(saved: SavedKey, now: datetime) -> tuple[str, ...]:
    health = saved.key.health
    return (
        str(saved.key.id),
        str(saved.owner),
        saved.provider,
        f"…{saved.hint}" if saved.hint else "",
        "main" if saved.key.is_main else "",
        str(health.usage_count),
        str(health.error_count),
        _state(saved, now),
    )


def _state(saved: SavedKey, now: datetime) -> str:
    condition = condition_of(saved.key, now, opens=saved.opens)
    ends = f" until {until(condition.until, now)}" if condition.until else ""
    return f"{in_words(condition)}{ends}"


def _ending(saved: SavedKey) -> str:
    return f", which ends in {saved.hint}," if saved.hint else ""
