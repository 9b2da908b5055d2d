"""Moves all stored secrets to the current master secret, while they are in use."""

from turnkeeper.application.audit_secrets import SealedBy, Told, sealed_by
from turnkeeper.application.ports.resealer import Resealer, SealedRow
from turnkeeper.domain.frozen import frozen

MOST_ROUNDS = 3
"""Others may seal with an old version meanwhile; who goes on doing so is not waited for."""


@frozen
class Rotation:
    """What became of a rotation.

    Attributes:
        renewed: How many secrets were sealed anew.
        shut: Those that do not open, and stay as they are.
        versions: What each version has sealed, afterwards.
    """

    renewed: int
    shut: tuple[SealedRow, ...]
    versions: tuple[SealedBy, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the current version has sealed all there is."""
        return not any(one.rows for one in self.versions if not one.is_current)

    @property
    def removable(self) -> tuple[int, ...]:
        """The old versions that nothing needs any more."""
        return tuple(one.version for one in self.versions if one.is_removable)


def rotate_secrets(resealer: Resealer, told: Told = lambda done, total: None) -> Rotation:
    """Seal anew what an older version has sealed; a rotation that was broken off goes on here.

    Raises:
        StoreUnavailable: What was renewed so far stays so.
        VaultError: The current master secret cannot be had.
    """
    total = sum(one.rows for one in sealed_by(resealer) if not one.is_current)
    renewed, shut = 0, tuple[SealedRow, ...]()
    for _ in range(MOST_ROUNDS):
        before, shut = renewed, ()
        for batch in resealer.reseal():
            renewed += batch.renewed
            shut += batch.shut
            told(renewed + len(shut), max(total, renewed + len(shut)))
        if renewed == before:
            break
    return Rotation(renewed=renewed, shut=shut, versions=sealed_by(resealer))
