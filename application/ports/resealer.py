"""The port to renewing and checking what protects the stored secrets."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner


@frozen
class SealedRow:
    """One stored secret, by name and never by value.

    Attributes:
        kind: What it is, such as ``key``.
        owner: Whose it is.
        provider: For which provider.
        id: Its number or name among those of its kind.
        version: Of the master secret that sealed it.
    """

    kind: str
    owner: Owner
    provider: str
    id: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind} {self.id} ({self.owner}, {self.provider}, version {self.version})"


@frozen
class Resealed:
    """What became of one batch of secrets that another master secret had sealed.

    Attributes:
        renewed: How many are sealed with the current one now.
        shut: Those that do not open, and stay as they are.
    """

    renewed: int
    shut: tuple[SealedRow, ...] = ()


@frozen
class Looked:
    """What one stored secret turned out to be.

    Attributes:
        row: Which one.
        opens: Whether it opens.
        fingerprint: Equal for equal keys; None for what does not open or may be there twice.
    """

    row: SealedRow
    opens: bool
    fingerprint: bytes | None = None


class Resealer(Protocol):
    """Moves stored secrets to the current master secret while they are in use.

    It may be stopped at any time and called again, by several processes at once too.

    Raises:
        StoreUnavailable: What was renewed so far stays so.
        VaultError: The current master secret cannot be had.
    """

    @property
    def current_version(self) -> int:
        """The version that seals."""
        ...

    @property
    def known_versions(self) -> tuple[int, ...]:
        """All versions that there is a master secret of."""
        ...

    def counts(self) -> Mapping[int, int]:
        """How many secrets each version has sealed."""
        ...

    def reseal(self) -> Iterator[Resealed]:
        """Seal all secrets anew that another version had sealed, batch by batch."""
        ...

    def look(self) -> Iterator[tuple[Looked, ...]]:
        """Look at all secrets, batch by batch; nothing is changed."""
        ...
