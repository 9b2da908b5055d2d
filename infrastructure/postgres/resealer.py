"""Seals the keys in Postgres anew, page by page."""

from collections.abc import Iterator

from sqlalchemy import Engine, select, tuple_, update

from turnkeeper.application.ports.resealer import Resealed, Resealer
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.key_rows import Row, opened
from turnkeeper.infrastructure.postgres.tables import provider_keys

PAGE_ROWS = 200
PLACE = (provider_keys.c.owner, provider_keys.c.provider, provider_keys.c.id)


class PostgresResealer(Resealer):
    """Renews the keys of one database, one at a time: each is always in one form or the other."""

    def __init__(self, engine: Engine, *, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    def reseal(self) -> Resealed:
        renewed, shut = 0, []
        for row in self._outdated():
            try:
                renewed += self._renew(row)
            except VaultError:
                shut.append(KeyId(row["id"]))
        return Resealed(renewed=renewed, shut=tuple(shut))

    def _outdated(self) -> Iterator[Row]:
        page = (
            select(provider_keys, provider_keys.c.id.label("key_id"))
            .where(provider_keys.c.key_version != self._vault.current_version)
            .order_by(*PLACE)
            .limit(PAGE_ROWS)
        )
        wanted = page
        while True:
            with connected(self._engine) as connection:
                rows = [row._asdict() for row in connection.execute(wanted)]
            yield from rows
            if len(rows) < PAGE_ROWS:
                return
            last = tuple(rows[-1][column.name] for column in PLACE)
            wanted = page.where(tuple_(*PLACE) > tuple_(*last))

    def _renew(self, row: Row) -> int:
        owner, provider, place = Owner.parse(row["owner"]), row["provider"], str(row["id"])
        secret = opened(row, self._vault, owner, provider)
        sealed = self._vault.seal(secret, owner=owner, provider=provider, row=place)
        renewing = (
            update(provider_keys)
            .where(*(column == row[column.name] for column in PLACE))
            # A key that was replaced or renewed meanwhile is left as it is.
            .where(provider_keys.c.sealed == row["sealed"])
            .values(
                sealed=sealed.data,
                key_version=sealed.version,
                fingerprint=self._vault.fingerprint(secret),
            )
        )
        with connected(self._engine) as connection:
            return connection.execute(renewing).rowcount
