"""The numbered master secrets: from the environment, or one kept in a file."""

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from turnkeeper.domain.errors import SettingsError, VaultError
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.data_folder import make_folder

VARIABLE = "TURNKEEPER_SECRET"
CURRENT = f"{VARIABLE}_CURRENT"
NUMBERED = re.compile(f"{VARIABLE}_V([0-9]+)")
LOCAL_FILE = "master-secret"
SHORT_CHARACTERS = 32
# Versions are kept in a 32-bit column.
HIGHEST_VERSION = 2**31 - 1


@frozen
class MasterSecrets:
    """The known master secrets, and the one that seals.

    Attributes:
        current: Version that seals; one of `by_version`.
        by_version: Pairs of version (at least 1) and secret, each version once.
    """

    current: int
    by_version: tuple[tuple[int, Secret], ...]

    def __post_init__(self) -> None:
        if len(set(self.versions)) < len(self.versions) or min(self.versions, default=1) < 1:
            raise ValueError(f"versions are {self.versions}, must be different and at least 1")
        if self.current not in self.versions:
            raise ValueError(f"current is {self.current}, must be one of {self.versions}")

    @property
    def versions(self) -> tuple[int, ...]:
        """The known versions."""
        return tuple(version for version, _ in self.by_version)

    @property
    def short_versions(self) -> tuple[int, ...]:
        """The versions whose secret is short enough to be guessed, to warn of."""
        return tuple(n for n, secret in self.by_version if len(secret.reveal()) < SHORT_CHARACTERS)


def secrets_from(environ: Mapping[str, str]) -> MasterSecrets | None:
    """Return what TURNKEEPER_SECRET_V<n> and TURNKEEPER_SECRET_CURRENT say; None without any.

    The current version is the highest one unless it is named.

    Raises:
        SettingsError: A variable is misnamed or empty, or the current version is not there.
    """
    known = tuple(sorted(_numbered(environ)))
    named = environ.get(CURRENT)
    if not known and named is None:
        return None
    current = known[-1][0] if named is None else _number(CURRENT, named)
    if current not in (version for version, _ in known):
        raise SettingsError(f"{CURRENT} is {current}, but {VARIABLE}_V{current} is not set")
    return MasterSecrets(current=current, by_version=known)


def _numbered(environ: Mapping[str, str]) -> Iterator[tuple[int, Secret]]:
    for name, text in environ.items():
        if not name.startswith(VARIABLE) or name == CURRENT:
            continue
        match = NUMBERED.fullmatch(name)
        # A name that is nearly right would be passed over, and what it holds be missed only later.
        if match is None:
            raise SettingsError(f"{name} is not known: name it {VARIABLE}_V1, _V2, … or {CURRENT}")
        if not text.strip():
            raise SettingsError(f"{name} is empty: give it a secret, or unset it")
        yield _number(name, match[1]), Secret(text.strip())


def _number(name: str, text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,9}", text) or int(text) > HIGHEST_VERSION:
        raise SettingsError(
            f"{name}: a version is a whole number from 1 to {HIGHEST_VERSION},"
            " without leading zeros"
        )
    return int(text)


def local_secret(folder: Path) -> MasterSecrets:
    """Return the secret kept in this folder; made once, also when several processes start at once.

    Raises:
        VaultError: The file cannot be made or read, is empty, or is open to others.
    """
    path = folder / LOCAL_FILE
    try:
        make_folder(folder)
        if not path.exists():
            _make(path)
        text = _read(path)
    except OSError as error:
        raise VaultError(
            f"the master secret in {path} cannot be had ({error.strerror}):"
            f" make the folder writable, or set {VARIABLE}_V1"
        ) from error
    return MasterSecrets(current=1, by_version=((1, Secret(text)),))


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        # A link appears complete and never replaces: the first process wins, the others read its.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _read(path: Path) -> str:
    with path.open(encoding="ascii") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        text = file.read().strip()
    if mode & 0o077:
        raise VaultError(
            f"the master secret in {path} is open to others (mode {mode:o}): chmod 600"
        )
    if not text:
        raise VaultError(f"the master secret in {path} is empty: restore it from a backup")
    return text
