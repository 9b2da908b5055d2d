"""Whether all that turnkeeper needs is there. Nothing is changed, and no secret is shown."""

import os
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from turnkeeper.domain.errors import TurnkeeperError
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.master_secrets import VARIABLE
from turnkeeper.interfaces.container import Container
from turnkeeper.interfaces.settings import PREFIX, Settings, variables

# The server keeps these for its administrators.
RESERVED_CONNECTIONS = 3
MAX_NAMED = 5
OF_THE_TESTS = (
    "TURNKEEPER_RECORDINGS",
    "TURNKEEPER_SOAK",
    "TURNKEEPER_BROWSER",
    "TURNKEEPER_REQUIRE_BROWSER",
    "TURNKEEPER_SCREENSHOTS",
)


@frozen
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        is_well: Whether it is as it should be.
        said: What was found, and where it is not well, what to do.
    """

    name: str
    is_well: bool
    said: str


def checks(container: Container, environ: Mapping[str, str]) -> Iterator[Check]:
    """Look at one thing after the other; what cannot be looked at is not well."""
    settings = container.settings()
    yield _data_folder(settings.data_folder)
    yield _variables(environ)
    if settings.store == "memory":
        yield Check(name="database", is_well=True, said="none: this store keeps nothing")
        return
    database = _tried("database", lambda: _database(container))
    yield database
    if not database.is_well:
        return
    yield _tried("migrations", lambda: _migrations(container))
    yield _tried("connections", lambda: _connections(container, settings))
    yield _tried("master secret", lambda: _secrets(settings))
    yield _tried("keys", lambda: _keys(container))
    yield _tried("stuck messages", lambda: _stuck(container))


def _tried(name: str, look: Callable[[], tuple[bool, str]]) -> Check:
    try:
        is_well, said = look()
    except TurnkeeperError as error:
        return Check(name=name, is_well=False, said=str(error))
    return Check(name=name, is_well=is_well, said=said)


def _data_folder(folder: Path) -> Check:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    is_well = there.is_dir() and os.access(there, os.W_OK)
    state = "is there" if there == folder else "will be made"
    said = f"{folder} {state}" if is_well else f"{there} cannot be written: set {PREFIX}DATA_DIR"
    return Check(name="data folder", is_well=is_well, said=said)


def _variables(environ: Mapping[str, str]) -> Check:
    """Misspelt names, which would be passed over in silence."""
    known = (*variables(), *OF_THE_TESTS)
    strange = sorted(
        name
        for name in environ
        if name.startswith(PREFIX) and not name.startswith(VARIABLE) and name not in known
    )
    if not strange:
        return Check(name="variables", is_well=True, said="all names are known")
    hints = [f"{name}{_meant(name, known)}" for name in strange]
    return Check(name="variables", is_well=False, said=f"not known: {', '.join(hints)}")


def _meant(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return f" (meant: {near[0]}?)" if near else ""


def _database(container: Container) -> tuple[bool, str]:
    row = _asked(container, "SELECT current_setting('server_version'), current_database()")
    kind = "given by URL" if container.settings().database_url else "embedded"
    return True, f"PostgreSQL {row[0]}, database {row[1]}, {kind}"


def _migrations(container: Container) -> tuple[bool, str]:
    from turnkeeper.infrastructure.postgres.migrate import pending

    missing = pending(container.engine())
    if missing:
        return False, f"{len(missing)} are missing ({', '.join(missing)}): `turnkeeper migrate`"
    return True, "all are applied"


def _connections(container: Container, settings: Settings) -> tuple[bool, str]:
    row = _asked(container, "SELECT current_setting('max_connections')::int")
    usable = row[0] - RESERVED_CONNECTIONS
    needed = settings.processes * (settings.pool_size + 1)
    said = (
        f"{settings.processes} processes x ({settings.pool_size} + 1) = {needed}"
        f" of {usable} usable ones"
    )
    if needed > usable:
        return False, f"{said}: lower {PREFIX}POOL_SIZE, or raise the server's max_connections"
    return True, said


def _secrets(settings: Settings) -> tuple[bool, str]:
    masters = settings.master_secrets
    if masters is None:
        return True, "kept in the data folder: back it up with the database"
    if masters.short_versions:
        short = ", ".join(f"{VARIABLE}_V{version}" for version in masters.short_versions)
        return False, f"{short} is short enough to be guessed: use 32 characters or more"
    return True, f"version {masters.current} seals, {len(masters.versions)} known"


def _keys(container: Container) -> tuple[bool, str]:
    saved = container.key_vault().keys()
    shut = [one for one in saved if not one.opens]
    if shut:
        names = ", ".join(f"{one.key.id} ({one.owner}, {one.provider})" for one in shut)
        return False, f"{len(shut)} of {len(saved)} do not open: {names}: check {VARIABLE}_V<n>"
    return True, f"all {len(saved)} open"


def _stuck(container: Container) -> tuple[bool, str]:
    stuck = container.orphans().stuck()
    if not stuck:
        return True, "none"
    named = [f"{one.message_id} in channel {one.intent.channel_id}" for one in stuck]
    more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return False, (
        f"{len(named)} cannot be deleted: {', '.join(named[:MAX_NAMED])}{more}: delete them by"
        " hand, or let the bot manage messages there and run `turnkeeper sweep`"
    )


def _asked(container: Container, question: str) -> Any:
    from sqlalchemy import text

    from turnkeeper.infrastructure.postgres.engine import connected

    with connected(container.engine()) as connection:
        return connection.execute(text(question)).one()
