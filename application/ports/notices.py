"""Where it is kept what the buttons of fallback notices show, also after a restart."""

from typing import Protocol

from turnkeeper.domain.notice import ALIVE_S, Notice, NoticeDetails, NoticeExpired, NoticePlace

CLAIM_S = 600.0
KEPT_S = 24 * 3600.0
"""How long an expired notice is known as such, and its button tried to be disabled."""


class Notices(Protocol):
    """Keeps notices by their message. Safe to use from several threads and processes.

    Instants are the store's own.

    Raises:
        StoreUnavailable: From every method.
    """

    def save(
        self,
        place: NoticePlace,
        details: NoticeDetails,
        *,
        alive_s: float = ALIVE_S,
        user_id: str | None = None,
    ) -> None:
        """Keep what a notice shows, in the place of what it showed before.

        Args:
            alive_s: How long it is shown.
            user_id: Who had asked, or None.
        """
        ...

    def find(self, message_id: str) -> NoticeDetails | NoticeExpired | None:
        """What the notice shows; None if it is not known, or no longer."""
        ...

    def due(self, limit: int, *, claim_s: float = CLAIM_S) -> tuple[Notice, ...]:
        """Claim notices whose time is over and whose button is to be disabled, oldest first.

        What one has claimed nobody else gets, until it is forgotten or the claim has run out.
        Those that have been over for `KEPT_S` are forgotten, whether or not they were disabled.

        Args:
            limit: The most that are claimed.
            claim_s: How long the claim holds.
        """
        ...

    def forget(self, place: NoticePlace) -> None:
        """Keep the notice no longer; one that is not known is no error."""
        ...
