"""Seals stored keys with AES-256-GCM under numbered master secrets."""

import os
from functools import lru_cache
from threading import Lock

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed, Secret
from turnkeeper.infrastructure.master_secrets import VARIABLE, MasterSecrets

LABEL = b"turnkeeper vault 1"
NONCE_BYTES = 12
_MOST_PLACES = 4_096  # whose bound bytes are remembered; nothing of them is secret


@frozen
class _Keys:
    cipher: AESGCM
    fingerprint_key: bytes


class AesGcmVault(Vault):
    """The vault whose secrets open only with the master secret, and only in their own row.

    Every master secret goes through scrypt, whatever it looks like: a passphrase needs it, and a
    random key loses nothing but a tenth of a second, once for each version that is really used.
    """

    def __init__(self, masters: MasterSecrets) -> None:
        self._masters = dict(masters.by_version)
        self._current_version = masters.current
        self._derived: dict[int, _Keys] = {}
        # Guards _derived: scrypt takes 32 MiB, so one thread derives and the others wait for it.
        self._deriving = Lock()

    @property
    def current_version(self) -> int:
        return self._current_version

    @property
    def versions(self) -> tuple[int, ...]:
        return tuple(sorted(self._masters))

    def seal(self, secret: Secret, *, owner: Owner, provider: str, row: str) -> Sealed:
        version = self._current_version
        nonce = os.urandom(NONCE_BYTES)
        text = secret.reveal().encode()
        bound = _bound(owner, provider, row, version)
        data = self._keys(version).cipher.encrypt(nonce, text, bound)
        return Sealed(version=version, data=nonce + data)

    def open(self, sealed: Sealed, *, owner: Owner, provider: str, row: str) -> Secret:
        cipher = self._keys(sealed.version).cipher
        nonce, data = sealed.data[:NONCE_BYTES], sealed.data[NONCE_BYTES:]
        try:
            text = cipher.decrypt(nonce, data, _bound(owner, provider, row, sealed.version))
        # A ValueError says that the data is cut so short that no nonce is left.
        except (InvalidTag, ValueError) as error:
            raise VaultError(
                f"the key of {owner} for {provider}, row {row}, does not open with version"
                f" {sealed.version}: {VARIABLE}_V{sealed.version} is not the secret it was sealed"
                " with, or the row was changed or moved"
            ) from error
        return Secret(text.decode())

    def fingerprint(self, secret: Secret) -> bytes:
        return self._fingerprint(secret, self._current_version)

    def fingerprints(self, secret: Secret) -> tuple[bytes, ...]:
        newest_first = sorted(self._masters, key=lambda version: version != self._current_version)
        return tuple(self._fingerprint(secret, version) for version in newest_first)

    def _fingerprint(self, secret: Secret, version: int) -> bytes:
        mac = HMAC(self._keys(version).fingerprint_key, SHA256())
        mac.update(secret.reveal().encode())
        return mac.finalize()

    def _keys(self, version: int) -> _Keys:
        derived = self._derived.get(version)  # what is there stays, so no lock is needed
        if derived is not None:
            return derived
        master = self._masters.get(version)
        if master is None:
            known = ", ".join(map(str, self._masters))
            raise VaultError(
                f"master secret version {version} is not known, known are: {known};"
                f" set {VARIABLE}_V{version}"
            )
        with self._deriving:
            if version not in self._derived:
                self._derived[version] = _derive(master, version)
            return self._derived[version]


def _derive(master: Secret, version: int) -> _Keys:
    # The salt cannot be random, as every process must find the same keys; it tells versions apart.
    salt = b"%s, master secret %d" % (LABEL, version)
    material = Scrypt(salt=salt, length=64, n=2**15, r=8, p=1).derive(master.reveal().encode())
    return _Keys(cipher=AESGCM(material[:32]), fingerprint_key=material[32:])


@lru_cache(_MOST_PLACES)
def _bound(owner: Owner, provider: str, row: str, version: int) -> bytes:
    # Each field carries its length, so that no two different quintuples give the same bytes.
    fields = (owner.kind.value, owner.id, provider, row, str(version))
    encoded = [field.encode() for field in fields]
    return LABEL + b"".join(len(field).to_bytes(4, "big") + field for field in encoded)
