"""The port to where webhooks are kept, so that a channel needs only one."""

from typing import Protocol

from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.discord.webhook import Webhook


class WebhookStore(Protocol):
    """Keeps one webhook a channel, its token unreadable. Safe from several threads and processes.

    Raises:
        StoreUnavailable: From every method.
    """

    def load(self, owner: Owner, channel_id: str) -> Webhook | None:
        """The channel's webhook, or None.

        Raises:
            VaultError: Its token does not open.
        """
        ...

    def save(self, owner: Owner, webhook: Webhook) -> None:
        """Keep it in the place of an earlier one of its channel."""
        ...

    def find(self, webhook_id: str) -> Webhook | None:
        """The webhook with this id, or None; for whoever knows no more of it.

        Raises:
            VaultError: Its token does not open.
        """
        ...

    def drop(self, webhook_id: str) -> None:
        """Forget the webhook with this id; one that is not known is no error."""
        ...
