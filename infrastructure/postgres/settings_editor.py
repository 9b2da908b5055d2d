"""Writes settings to Postgres."""

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_update

from turnkeeper.application.ports.settings_editor import SettingsEditor, WholeOwner
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Endpoint, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import (
    FallbackRef,
    PersonalSettings,
    SavedProvider,
    ServerSettings,
)
from turnkeeper.infrastructure.postgres.engine import connected, transaction
from turnkeeper.infrastructure.postgres.settings_rows import (
    Values,
    endpoint_of,
    endpoint_row,
    model_of,
    model_row,
    personal_row,
    provider_row,
    server_row,
)
from turnkeeper.infrastructure.postgres.tables import (
    endpoint_ids,
    endpoints,
    models,
    owner_settings,
    saved_providers,
)
from turnkeeper.infrastructure.stored_refs import changed_meanwhile, no_endpoint

NEW_MODEL = insert_or_update(models)
SAVE_MODEL = NEW_MODEL.on_conflict_do_update(
    index_elements=[models.c.id],
    set_={name: value for name, value in NEW_MODEL.excluded.items() if name != "id"},
    where=or_(*(models.c[name].is_distinct_from(v) for name, v in NEW_MODEL.excluded.items())),
).returning(models.c.id)


class PostgresSettingsEditor(SettingsEditor):
    """The settings of one database. Each change is one transaction that begins with its owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save_model(self, model: Model) -> None:
        with transaction(self._engine) as connection:
            _register(connection, model)

    def remove_model(self, model_id: str) -> bool:
        with transaction(self._engine) as connection:
            gone = connection.execute(delete(models).where(models.c.id == model_id))
            if gone.rowcount:
                _outdate(connection, model_id)
            return gone.rowcount > 0

    def models(self) -> tuple[Model, ...]:
        with connected(self._engine) as connection:
            found = [model_of(row._asdict()) for row in connection.execute(select(models))]
        return tuple(sorted(found, key=lambda model: model.id))

    def owners(self, *, using: str | None = None) -> tuple[Owner, ...]:
        asked = select(owner_settings.c.owner)
        if using is not None:
            asked = asked.where(_mentions(using))
        with connected(self._engine) as connection:
            found = connection.scalars(asked).all()
        return tuple(Owner.parse(owner) for owner in sorted(found))

    def save_server(
        self,
        settings: ServerSettings,
        *,
        primary: FallbackRef | None,
        chain: tuple[FallbackRef, ...],
    ) -> None:
        owner = Owner.server(settings.server_id)
        with transaction(self._engine) as connection:
            _change(connection, owner, server_row(settings, primary, chain), read=settings.version)
            _replace_providers(connection, owner, settings.providers)

    def save_personal(self, settings: PersonalSettings, *, chain: tuple[FallbackRef, ...]) -> None:
        owner = Owner.user(settings.user_id)
        with transaction(self._engine) as connection:
            _change(connection, owner, personal_row(settings, chain), read=settings.version)
            _replace_providers(connection, owner, settings.providers)

    def save_endpoint(self, owner: Owner, endpoint: Endpoint) -> Endpoint:
        with transaction(self._engine) as connection:
            _change(connection, owner, {})
            if endpoint.id == 0:
                added = replace(endpoint, id=_new_endpoint_id(connection))
                _insert_endpoint(connection, owner, added)
                return added
            changing = update(endpoints).where(*_is(owner, endpoint.id))
            if not connection.execute(changing.values(endpoint_row(endpoint))).rowcount:
                raise no_endpoint(owner, endpoint.id)
            return endpoint

    def endpoints(self, owner: Owner) -> tuple[Endpoint, ...]:
        owned = select(endpoints).where(endpoints.c.owner == str(owner)).order_by(endpoints.c.id)
        with connected(self._engine) as connection:
            return tuple(endpoint_of(row._asdict()) for row in connection.execute(owned))

    def remove_endpoint(self, owner: Owner, endpoint_id: int) -> bool:
        owned = select(owner_settings.c.owner).where(owner_settings.c.owner == str(owner))
        with transaction(self._engine) as connection:
            # As all changes begin, so that two never wait for each other.
            connection.execute(owned.with_for_update())
            gone = connection.execute(delete(endpoints).where(*_is(owner, endpoint_id)))
            if gone.rowcount:
                _change(connection, owner, {})
            return gone.rowcount > 0

    def new_endpoint_id(self) -> int:
        with connected(self._engine) as connection:
            return _new_endpoint_id(connection)

    def replace_owner(self, whole: WholeOwner) -> None:
        owner, settings = whole.owner, whole.settings
        values = (
            server_row(settings, whole.primary, whole.chain)
            if isinstance(settings, ServerSettings)
            else personal_row(settings, whole.chain)
        )
        with transaction(self._engine) as connection:
            _change(connection, owner, values, read=settings.version)
            _replace_providers(connection, owner, settings.providers)
            connection.execute(delete(endpoints).where(endpoints.c.owner == str(owner)))
            for endpoint in whole.endpoints:
                _insert_endpoint(connection, owner, endpoint)
            # In one order, so that of two that register the same ones none waits for the other.
            for model in sorted(whole.models, key=lambda one: one.id):
                _register(connection, model)


def _register(connection: Connection, model: Model) -> None:
    if connection.execute(SAVE_MODEL, model_row(model)).first():
        _outdate(connection, model.id)


def _outdate(connection: Connection, model_id: str) -> None:
    """Raise the versions of all that refer to the model."""
    raised = owner_settings.c.version + 1
    connection.execute(update(owner_settings).where(_mentions(model_id)).values(version=raised))


def _new_endpoint_id(connection: Connection) -> int:
    number: int = connection.scalars(select(endpoint_ids.next_value())).one()
    return number


def _insert_endpoint(connection: Connection, owner: Owner, endpoint: Endpoint) -> None:
    row = {"owner": str(owner), **endpoint_row(endpoint)}
    connection.execute(insert(endpoints).values(row))


def _is(owner: Owner, endpoint_id: int) -> tuple[ColumnElement[bool], ...]:
    return endpoints.c.owner == str(owner), endpoints.c.id == endpoint_id


def _change(connection: Connection, owner: Owner, values: Values, *, read: int = 0) -> None:
    """Set these values and raise the version, if it still is the one that was read.

    Args:
        read: 0 sets them whatever the version is.
    """
    made = insert_or_update(owner_settings).values(owner=str(owner), version=1, **values)
    raised = {"version": owner_settings.c.version + 1, "changed_at": func.now()}
    saved = made.on_conflict_do_update(
        index_elements=[owner_settings.c.owner], set_={**values, **raised}
    ).returning(owner_settings.c.version)
    version: int = connection.scalars(saved).one()
    if read and version != read + 1:
        raise changed_meanwhile(owner, read=read, stored=version - 1)


def _replace_providers(
    connection: Connection, owner: Owner, rows: tuple[SavedProvider, ...]
) -> None:
    connection.execute(delete(saved_providers).where(saved_providers.c.owner == str(owner)))
    for row in rows:
        values = {"owner": str(owner), **provider_row(row)}
        connection.execute(insert(saved_providers).values(values))


def _mentions(model_id: str) -> ColumnElement[bool]:
    """Whether an owner's settings refer to the model."""
    settings, ref = owner_settings.c, {"kind": "model", "id": model_id}
    rows = select(saved_providers.c.owner).where(saved_providers.c.model_id == model_id)
    return or_(
        settings.primary_ref.contains(ref),
        settings.chain.contains([ref]),
        settings.persona_models.contains([[model_id]]),
        settings.channel_models.contains([[model_id]]),
        settings.owner.in_(rows),
    )
