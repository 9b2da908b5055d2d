"""The tables whose rows hold a sealed secret. One line here is all that a new one needs."""

from typing import Any

from sqlalchemy import Column, Table

from turnkeeper.application.ports.resealer import SealedRow
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed
from turnkeeper.infrastructure.postgres.discord_tables import discord_webhooks
from turnkeeper.infrastructure.postgres.key_rows import Row
from turnkeeper.infrastructure.postgres.tables import provider_keys


@frozen
class SealedTable:
    """A table with the columns `owner`, `sealed` and `key_version`.

    One that also has `fingerprint` is looked through for equal secrets of an owner and provider.

    Attributes:
        kind: What one of its rows is called.
        table: The table itself.
        id: The column that the vault binds as the row.
        provider: What it binds as the provider: the name of a column, else the text itself.
    """

    kind: str
    table: Table
    id: str
    provider: str

    @property
    def place(self) -> tuple[Column[Any], ...]:
        """The primary key, by which pages follow each other."""
        return tuple(self.table.primary_key.columns)

    @property
    def has_fingerprint(self) -> bool:
        """Whether equal secrets are told."""
        return "fingerprint" in self.table.c

    def name_of(self, row: Row) -> SealedRow:
        """The row, by name."""
        return SealedRow(
            kind=self.kind,
            owner=Owner.parse(row["owner"]),
            provider=row[self.provider] if self.provider in self.table.c else self.provider,
            id=str(row[self.id]),
            version=row["key_version"],
        )

    def sealed_of(self, row: Row) -> Sealed:
        """What the row holds."""
        return Sealed(version=row["key_version"], data=row["sealed"])


SEALED_TABLES = (
    # An endpoint's key is one of these too, for the provider `custom:N`.
    SealedTable(kind="key", table=provider_keys, id="id", provider="provider"),
    SealedTable(kind="webhook", table=discord_webhooks, id="webhook_id", provider="discord"),
)
