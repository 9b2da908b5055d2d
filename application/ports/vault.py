"""The port to the place where secrets become storable."""

from typing import Protocol

from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed, Secret


class Vault(Protocol):
    """Seals secrets for one row of one owner and opens them there again.

    Safe to use from several threads. No method reads or writes a store. Each may raise VaultError
    if the master secret cannot be had.
    """

    @property
    def current_version(self) -> int:
        """The version that `seal` uses; what was sealed with another one is to be sealed anew."""
        ...

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions that there is a master secret of, in order."""
        ...

    def seal(self, secret: Secret, *, owner: Owner, provider: str, row: str) -> Sealed:
        """Return the secret in its storable form; twice the same secret gives different data."""
        ...

    def open(self, sealed: Sealed, *, owner: Owner, provider: str, row: str) -> Secret:
        """Return the secret that was sealed for exactly this owner, provider and row.

        Raises:
            VaultError: Its version is not known, or it does not open: another master secret,
                another row, or changed data. The message names the version, never the secret.
        """
        ...

    def fingerprint(self, secret: Secret) -> bytes:
        """Return 32 bytes that are equal for equal secrets, made with the current version."""
        ...

    def fingerprints(self, secret: Secret) -> tuple[bytes, ...]:
        """Return its fingerprints under every known version, the current first.

        A search for duplicates compares with all of them, so that it also finds what a rotation
        of the master secret has not reached yet.
        """
        ...
