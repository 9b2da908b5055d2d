"""Reads settings from Postgres."""

from itertools import chain
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Engine,
    Table,
    Text,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.model import Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.settings_rows import (
    Row,
    known_of,
    model_ids,
    model_of,
    personal_of,
    server_of,
)
from turnkeeper.infrastructure.postgres.tables import (
    endpoints,
    models,
    owner_settings,
    saved_providers,
)
from turnkeeper.infrastructure.stored_refs import Known, unambiguous

OWNER = bindparam("of_owner", type_=Text())


def _rows_of(table: Table) -> ColumnElement[Any]:
    """All rows of the owner in that table, in one value."""
    row = func.jsonb_build_object(
        *chain.from_iterable((literal_column(f"'{one.name}'"), one) for one in table.c)
    )
    return select(func.jsonb_agg(row)).where(table.c.owner == OWNER).scalar_subquery()


ALL = select(
    owner_settings,
    _rows_of(saved_providers).label("providers"),
    _rows_of(endpoints).label("endpoints"),
).where(owner_settings.c.owner == OWNER)
MODELS = select(models).where(models.c.id == func.any(bindparam("ids", type_=ARRAY(Text))))
NAMED = select(models).where(
    or_(models.c.id == bindparam("text"), models.c.name == bindparam("text"))
)


class PostgresSettingsStore(SettingsStore):
    """The settings of one database. What an owner has set is two round trips."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def server(self, server_id: str) -> ServerSettings:
        found = self._read(Owner.server(server_id))
        return (
            ServerSettings(server_id=server_id) if found is None else server_of(server_id, *found)
        )

    def personal(self, user_id: str) -> PersonalSettings:
        found = self._read(Owner.user(user_id))
        return PersonalSettings(user_id=user_id) if found is None else personal_of(user_id, *found)

    def find_model(self, text: str) -> Model | None:
        with connected(self._engine) as connection:
            rows = connection.execute(NAMED, {"text": text})
            return unambiguous(text, [model_of(row._asdict()) for row in rows])

    def _read(self, owner: Owner) -> tuple[Row, Known] | None:
        with connected(self._engine) as connection:
            row = connection.execute(ALL, {"of_owner": str(owner)}).one_or_none()
            if row is None:
                return None
            settings = row._asdict()
            ids = model_ids(settings)
            found = connection.execute(MODELS, {"ids": ids}).all() if ids else ()
        return settings, known_of(owner, settings, [model._asdict() for model in found])
