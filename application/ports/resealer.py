"""The port to renewing what protects the saved keys."""

from dataclasses import dataclass
from typing import Protocol

from turnkeeper.domain.rotation import KeyId


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """What became of the keys that an older master secret had sealed.

    Attributes:
        renewed: How many are sealed with the current one now.
        shut: Those that do not open, and stay as they are.
    """

    renewed: int
    shut: tuple[KeyId, ...] = ()


class Resealer(Protocol):
    """Moves saved keys to the current master secret while they are in use.

    It may be stopped at any time and called again, by several processes at once too.

    Raises:
        StoreUnavailable: What was renewed so far stays so.
        VaultError: The current master secret cannot be had.
    """

    def reseal(self) -> Resealed:
        """Seal all keys anew that another version of the master secret had sealed.

        Once it says that none is shut, the older versions are not needed any more.
        """
        ...
