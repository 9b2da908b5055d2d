"""Seals the secrets in Postgres anew, and looks at them, page by page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Engine, Select, Update, case, exists, func, select, tuple_, update

from turnkeeper.application.ports.resealer import Looked, Resealed, Resealer, SealedRow
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.secret import Sealed, Secret
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.key_rows import Row
from turnkeeper.infrastructure.postgres.sealed_tables import SEALED_TABLES, SealedTable

PAGE_ROWS = 200


class PostgresResealer(Resealer):
    """Renews the secrets of one database, one at a time: each is always in one form or the other.

    Args:
        tables: Where they are.
    """

    def __init__(
        self, engine: Engine, *, vault: Vault, tables: tuple[SealedTable, ...] = SEALED_TABLES
    ) -> None:
        self._engine = engine
        self._vault = vault
        self._tables = tables

    @property
    def current_version(self) -> int:
        return self._vault.current_version

    @property
    def known_versions(self) -> tuple[int, ...]:
        return self._vault.versions

    def counts(self) -> Mapping[int, int]:
        found: Counter[int] = Counter()
        for sealed in self._tables:
            version = sealed.table.c.key_version
            counting = select(version, func.count()).group_by(version)
            with connected(self._engine) as connection:
                found.update({row[0]: row[1] for row in connection.execute(counting)})
        return found

    def reseal(self) -> Iterator[Resealed]:
        for sealed in self._tables:
            outdated = select(sealed.table).where(
                sealed.table.c.key_version != self._vault.current_version
            )
            for page in self._pages(sealed, outdated):
                yield self._renewed(sealed, page)

    def look(self) -> Iterator[tuple[Looked, ...]]:
        for sealed in self._tables:
            for page in self._pages(sealed, select(sealed.table)):
                yield tuple(self._looked_at(sealed, row) for row in page)

    def _pages(self, sealed: SealedTable, rows: Select[tuple[object]]) -> Iterator[Sequence[Row]]:
        place = sealed.place
        ordered = wanted = rows.order_by(*place).limit(PAGE_ROWS)
        while True:
            with connected(self._engine) as connection:
                page = [row._asdict() for row in connection.execute(wanted)]
            if page:
                yield page
            if len(page) < PAGE_ROWS:
                return
            last = tuple(page[-1][column.name] for column in place)
            wanted = ordered.where(tuple_(*place) > tuple_(*last))

    def _renewed(self, sealed: SealedTable, page: Sequence[Row]) -> Resealed:
        renewed, shut = 0, []
        for row in page:
            name = sealed.name_of(row)
            try:
                secret = self._opened(name, sealed.sealed_of(row))
            except VaultError:
                shut.append(name)
            else:
                renewed += self._renew(sealed, row, name, secret)
        return Resealed(renewed=renewed, shut=tuple(shut))

    def _renew(self, sealed: SealedTable, row: Row, name: SealedRow, secret: Secret) -> int:
        anew = self._vault.seal(secret, owner=name.owner, provider=name.provider, row=name.id)
        renewing = (
            update(sealed.table)
            .where(*(column == row[column.name] for column in sealed.place))
            # A secret that was replaced or renewed meanwhile is left as it is.
            .where(sealed.table.c.sealed == row["sealed"])
            .values(sealed=anew.data, key_version=anew.version)
        )
        if sealed.has_fingerprint:
            renewing = _with_fingerprint(renewing, sealed, row, self._vault.fingerprint(secret))
        with connected(self._engine) as connection:
            return connection.execute(renewing).rowcount

    def _looked_at(self, sealed: SealedTable, row: Row) -> Looked:
        name = sealed.name_of(row)
        try:
            secret = self._opened(name, sealed.sealed_of(row))
        except VaultError:
            return Looked(row=name, opens=False)
        fingerprint = self._vault.fingerprint(secret) if sealed.has_fingerprint else None
        return Looked(row=name, opens=True, fingerprint=fingerprint)

    def _opened(self, name: SealedRow, sealed: Sealed) -> Secret:
        return self._vault.open(sealed, owner=name.owner, provider=name.provider, row=name.id)


def _with_fingerprint(
    renewing: Update, sealed: SealedTable, row: Row, fingerprint: bytes
) -> Update:
    """Let the fingerprint be renewed too, unless an equal key has it: each may be there once."""
    other = sealed.table.alias()
    is_taken = exists().where(
        other.c.owner == row["owner"],
        other.c[sealed.provider] == row[sealed.provider],
        other.c[sealed.id] != row[sealed.id],
        other.c.fingerprint == fingerprint,
    )
    kept = case((is_taken, sealed.table.c.fingerprint), else_=fingerprint)
    return renewing.values(fingerprint=kept)
