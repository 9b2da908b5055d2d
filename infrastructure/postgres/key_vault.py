"""Saves, lists and changes keys in Postgres."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Engine, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_keep

from turnkeeper.application.ports.key_ring import KeyVault, SavedKey
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.postgres.engine import connected, transaction
from turnkeeper.infrastructure.postgres.key_rows import Row, rotation_key, saved_key
from turnkeeper.infrastructure.postgres.tables import (
    key_ids,
    key_state,
    owner_settings,
    provider_keys,
)
from turnkeeper.infrastructure.saved_keys import (
    already_saved,
    hint_of,
    next_main,
    starting_usage,
)

KEYS = select(
    provider_keys, *(column for column in key_state.c if column.name not in {"owner", "provider"})
).join(key_state)
FIT_AGAIN: dict[str, object] = {
    "disabled": False,
    "rests_until": None,
    "rest_set_at": None,
    "rest_model": None,
    "probe_until": None,
    "model_rests": {},
    "error_count": 0,
    "last_error_class": None,
    "last_error_text": None,
    "secret_since": func.statement_timestamp(),
}


class PostgresKeyVault(KeyVault):
    """The saved keys of one database; its engine's commits are durable."""

    def __init__(self, engine: Engine, *, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    def add(self, owner: Owner, provider: str, secret: Secret, *, is_main: bool = False) -> KeyId:
        known = frozenset(self._vault.fingerprints(secret))
        with transaction(self._engine) as connection:
            pool = [row for row in _held(connection, owner) if row["provider"] == provider]
            _refuse_double(pool, known)
            main = next((row["key_id"] for row in pool if row["is_main"]), None)
            if is_main and main is not None:
                _set_main(connection, owner, main, False)
            place: dict[str, object] = {
                "is_main": is_main or main is None,
                "usage_count": starting_usage([rotation_key(row) for row in pool]),
            }
            return self._insert(connection, owner, provider, secret, place)

    def _insert(
        self,
        connection: Connection,
        owner: Owner,
        provider: str,
        secret: Secret,
        place: dict[str, object],
    ) -> KeyId:
        key_id = KeyId(connection.scalars(select(key_ids.next_value())).one())
        pool = {"owner": str(owner), "provider": provider}
        sealed = self._sealed(owner, provider, key_id, secret)
        connection.execute(insert(provider_keys).values(**pool, id=key_id, **sealed))
        connection.execute(insert(key_state).values(**pool, key_id=key_id, **place))
        return key_id

    def keys(self, owner: Owner | None = None, provider: str | None = None) -> tuple[SavedKey, ...]:
        wanted = KEYS
        if owner is not None:
            wanted = wanted.where(provider_keys.c.owner == str(owner))
        if provider is not None:
            wanted = wanted.where(provider_keys.c.provider == provider)
        with connected(self._engine) as connection:
            found = [row._asdict() for row in connection.execute(wanted)]
        # Not by the database, whose order of texts depends on its locale.
        rows = sorted(found, key=lambda row: (row["owner"], row["provider"], row["key_id"]))
        return tuple(saved_key(row, self._vault) for row in rows)

    def replace(self, owner: Owner, key_id: KeyId, secret: Secret) -> bool:
        known = frozenset(self._vault.fingerprints(secret))
        with transaction(self._engine) as connection:
            rows = _held(connection, owner)
            old = _named(rows, key_id)
            if old is None:
                return False
            others = [row for row in rows if row["provider"] == old["provider"] and row is not old]
            _refuse_double(others, known)
            sealed = self._sealed(owner, old["provider"], key_id, secret)
            connection.execute(update(provider_keys).where(*_key(owner, key_id)).values(sealed))
            connection.execute(update(key_state).where(*_state(owner, key_id)).values(FIT_AGAIN))
            return True

    def enable(self, owner: Owner, key_id: KeyId, enabled: bool) -> bool:
        values = {"enabled": True, "disabled": False} if enabled else {"enabled": False}
        with connected(self._engine) as connection:
            done = connection.execute(
                update(key_state).where(*_state(owner, key_id)).values(values)
            )
            return done.rowcount > 0

    def remove(self, owner: Owner, key_id: KeyId) -> bool:
        with transaction(self._engine) as connection:
            rows = _held(connection, owner)
            old = _named(rows, key_id)
            if old is None:
                return False
            connection.execute(delete(provider_keys).where(*_key(owner, key_id)))
            others = [row for row in rows if row["provider"] == old["provider"] and row is not old]
            heir = next_main(rotation_key(row) for row in others) if old["is_main"] else None
            if heir is not None:
                _set_main(connection, owner, heir, True)
            return True

    def _sealed(
        self, owner: Owner, provider: str, key_id: int, secret: Secret
    ) -> dict[str, object]:
        sealed = self._vault.seal(secret, owner=owner, provider=provider, row=str(key_id))
        return {
            "sealed": sealed.data,
            "key_version": sealed.version,
            "hint": hint_of(secret),
            "fingerprint": self._vault.fingerprint(secret),
        }


def _held(connection: Connection, owner: Owner) -> Sequence[Row]:
    """All keys of the owner, which nobody else adds to, replaces or removes until the end."""
    made = insert_or_keep(owner_settings).values(owner=str(owner))
    # A condition that is never true changes nothing, and still locks the row.
    connection.execute(
        made.on_conflict_do_update(
            index_elements=["owner"],
            set_={"version": owner_settings.c.version},
            where=owner_settings.c.version < 0,
        )
    )
    owned = KEYS.where(provider_keys.c.owner == str(owner)).order_by(provider_keys.c.id)
    return [row._asdict() for row in connection.execute(owned)]


def _set_main(connection: Connection, owner: Owner, key_id: int, is_main: bool) -> None:
    connection.execute(update(key_state).where(*_state(owner, key_id)).values(is_main=is_main))


def _key(owner: Owner, key_id: int) -> tuple[ColumnElement[bool], ...]:
    return provider_keys.c.owner == str(owner), provider_keys.c.id == key_id


def _state(owner: Owner, key_id: int) -> tuple[ColumnElement[bool], ...]:
    return key_state.c.owner == str(owner), key_state.c.key_id == key_id


def _named(rows: Sequence[Row], key_id: KeyId) -> Row | None:
    return next((row for row in rows if row["key_id"] == key_id), None)


def _refuse_double(pool: Sequence[Row], known: frozenset[bytes]) -> None:
    for row in pool:
        if row["fingerprint"] in known:
            raise already_saved(Owner.parse(row["owner"]), row["provider"], KeyId(row["key_id"]))
