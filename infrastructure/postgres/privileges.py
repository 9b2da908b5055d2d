"""What a role may do that runs turns and owns nothing."""

import re
from enum import Enum
from types import MappingProxyType

from sqlalchemy import Connection, Engine, text

from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.postgres.discord_tables import discord_webhooks
from turnkeeper.infrastructure.postgres.engine import connected, transaction
from turnkeeper.infrastructure.postgres.tables import endpoint_ids, key_ids, provider_keys
from turnkeeper.infrastructure.postgres.turn_tables import turns

APP_ROLE = "turnkeeper_app"
SCHEMA = "public"
# Every module of tables is to be imported here, for all of its tables to be known.
TABLES = (provider_keys, turns, discord_webhooks)
SEQUENCES = (endpoint_ids, key_ids)

ALL_ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE")
NARROWER = MappingProxyType(
    {
        # Which migrations were applied is asked at each start.
        "alembic_version": ("SELECT",),
        # What was journalled stays as it is.
        "turn_events": ("SELECT", "INSERT"),
        "models": ("SELECT", "INSERT", "UPDATE"),
        "owner_settings": ("SELECT", "INSERT", "UPDATE"),
        # Its rows go with their keys.
        "key_state": ("SELECT", "INSERT", "UPDATE"),
    }
)
"""Tables of which less than all rows' privileges are needed."""

_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_MAY_MAKE_ROLES = """
SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user
"""


class Given(Enum):
    """What became of the wish for a role."""

    CREATED = "created"
    """The role was made, and has its privileges."""
    GRANTED = "granted"
    """The role was there, and has its privileges and no others on our tables."""
    NOT_ALLOWED = "not allowed"
    """There is no such role, and this user may make none."""


def creation(role: str = APP_ROLE) -> str:
    """The statement that makes the role; who logs in is made a member of it.

    Raises:
        SettingsError: The role has no plain name.
    """
    return f"CREATE ROLE {_checked(role)} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE"


def grants(role: str = APP_ROLE, *, schema: str = SCHEMA) -> tuple[str, ...]:
    """The statements that give the role what it needs, and take from it what it does not.

    Raises:
        SettingsError: The role has no plain name.
    """
    _checked(role)
    ours = {name for table in TABLES for name in table.metadata.tables}
    names = ("alembic_version", *sorted(ours))
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        *(f"REVOKE ALL ON TABLE {schema}.{name} FROM {role}" for name in names),
        *(f"GRANT {_needed(name)} ON TABLE {schema}.{name} TO {role}" for name in names),
        *(f"GRANT USAGE ON SEQUENCE {schema}.{ids.name} TO {role}" for ids in SEQUENCES),
    )


def give_privileges(engine: Engine, role: str = APP_ROLE) -> Given:
    """Make the role if it is not there and this user may, and give it what it needs.

    Raises:
        SettingsError: The role has no plain name.
        StoreError: The tables are somebody else's, or are not all there.
    """
    making = creation(role)
    with connected(engine) as connection:
        schema = str(connection.execute(text("SELECT current_schema()")).scalar_one())
        is_new = not _is_there(connection, role)
        if is_new and not connection.execute(text(_MAY_MAKE_ROLES)).scalar_one():
            return Given.NOT_ALLOWED
    with transaction(engine) as connection:
        for statement in ((making,) if is_new else ()) + grants(role, schema=schema):
            connection.execute(text(statement))
    return Given.CREATED if is_new else Given.GRANTED


def _is_there(connection: Connection, role: str) -> bool:
    asking = text("SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = :role)")
    return bool(connection.execute(asking, {"role": role}).scalar_one())


def _needed(name: str) -> str:
    return ", ".join(NARROWER.get(name, ALL_ROWS))


def _checked(role: str) -> str:
    if _ROLE.fullmatch(role) is None:
        raise SettingsError(
            f"{role!r} is no name for a role: use small letters, digits and underscores"
        )
    return role
