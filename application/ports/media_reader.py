"""What media really are."""

from collections.abc import Mapping
from typing import Protocol

from turnkeeper.domain.media import Asked, Reading


class MediaReader(Protocol):
    """Looks at media before they are sent. Safe to use from several threads."""

    def read(self, asked: tuple[Asked, ...]) -> Mapping[Asked, Reading]:
        """What each of them is, as it can be sent, or why it cannot be.

        Together they take no longer than the reader's own limit; it never raises for what media
        can be. One that is left out is to be taken at its word.
        """
        ...
