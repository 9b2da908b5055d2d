"""What the stored secrets are sealed with, and whether they open."""

from collections.abc import Callable

from turnkeeper.application.ports.resealer import Resealer, SealedRow
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner

Told = Callable[[int, int], None]
"""Takes how many are done, of how many."""

Twin = tuple[str, Owner, str, bytes]


@frozen
class SealedBy:
    """What one version of the master secret has sealed.

    Attributes:
        version: Which one.
        rows: How many stored secrets.
        is_current: Whether it seals now.
        is_known: Whether it was given.
    """

    version: int
    rows: int
    is_current: bool
    is_known: bool

    @property
    def is_removable(self) -> bool:
        """Whether nothing needs it any more, once no process seals with it."""
        return self.is_known and not self.is_current and not self.rows


@frozen
class SecretsAudit:
    """What was found.

    Attributes:
        versions: All that are known or were used, in order.
        shut: Stored secrets that do not open.
        twins: Groups of equal keys of one owner and provider.
    """

    versions: tuple[SealedBy, ...]
    shut: tuple[SealedRow, ...] = ()
    twins: tuple[tuple[SealedRow, ...], ...] = ()

    @property
    def removable(self) -> tuple[int, ...]:
        """The old versions that nothing needs any more."""
        return tuple(one.version for one in self.versions if one.is_removable)

    @property
    def missing(self) -> tuple[int, ...]:
        """The versions that are needed, and were not given."""
        return tuple(one.version for one in self.versions if one.rows and not one.is_known)


def sealed_by(resealer: Resealer) -> tuple[SealedBy, ...]:
    """What each version has sealed.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    rows, known = resealer.counts(), resealer.known_versions
    return tuple(
        SealedBy(
            version=version,
            rows=rows.get(version, 0),
            is_current=version == resealer.current_version,
            is_known=version in known,
        )
        for version in sorted({*rows, *known})
    )


def audit_secrets(resealer: Resealer, told: Told = lambda done, total: None) -> SecretsAudit:
    """Open every stored secret once; nothing is changed.

    Raises:
        StoreUnavailable: The database cannot be reached.
        VaultError: The current master secret cannot be had.
    """
    total, done = sum(resealer.counts().values()), 0
    shut: list[SealedRow] = []
    equal: dict[Twin, list[SealedRow]] = {}
    for batch in resealer.look():
        for looked in batch:
            row = looked.row
            if not looked.opens:
                shut.append(row)
            elif looked.fingerprint is not None:
                equal.setdefault((row.kind, row.owner, row.provider, looked.fingerprint), [])
                equal[row.kind, row.owner, row.provider, looked.fingerprint].append(row)
        done += len(batch)
        told(done, total)
    twins = tuple(tuple(rows) for rows in equal.values() if len(rows) > 1)
    return SecretsAudit(versions=sealed_by(resealer), shut=tuple(shut), twins=twins)
