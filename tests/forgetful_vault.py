"""A vault without ciphers that can forget: what it sealed then no longer opens."""

import json
from hashlib import sha256

from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed, Secret


class ForgetfulVault(Vault):
    """Binds secrets to their row as a real vault does, and hides nothing."""

    def __init__(self) -> None:
        self._versions: tuple[int, ...] = (1,)
        self._forgotten: set[str] = set()

    def turn_over(self) -> None:
        """From now on seal with the next version of the master secret; the old one is kept."""
        others = [one for one in self._versions if one != self._versions[0] + 1]
        self._versions = (self._versions[0] + 1, *others)

    def turn_back(self) -> None:
        """From now on seal with the version before again; the newest is kept in mind."""
        self._versions = (*self._versions[1:], self._versions[0])

    def forget_version(self, version: int) -> None:
        """Seal with the next version, and know this one no more."""
        self._versions = tuple(one for one in self._versions if one != version) or (version + 1,)

    def remember_version(self, version: int) -> None:
        """Know it again."""
        self._versions = (*self._versions, version)

    def forget(self, *texts: str) -> None:
        """Open these secrets no more."""
        self._forgotten.update(texts)

    @property
    def current_version(self) -> int:
        return self._versions[0]

    @property
    def versions(self) -> tuple[int, ...]:
        return tuple(sorted(self._versions))

    def seal(self, secret: Secret, *, owner: Owner, provider: str, row: str) -> Sealed:
        version = self.current_version
        data = json.dumps([str(owner), provider, row, version, secret.reveal()]).encode()
        return Sealed(version=version, data=data)

    def open(self, sealed: Sealed, *, owner: Owner, provider: str, row: str) -> Secret:
        *place, text = json.loads(sealed.data)
        known = sealed.version in self._versions and text not in self._forgotten
        if not known or place != [str(owner), provider, row, sealed.version]:
            raise VaultError(f"row {row} does not open with version {sealed.version}")
        return Secret(text)

    def fingerprint(self, secret: Secret) -> bytes:
        return self.fingerprints(secret)[0]

    def fingerprints(self, secret: Secret) -> tuple[bytes, ...]:
        text = secret.reveal()
        return tuple(sha256(f"{version} {text}".encode()).digest() for version in self._versions)
