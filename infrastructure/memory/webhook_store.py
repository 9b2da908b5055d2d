"""Webhooks in this process."""

from threading import Lock

from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore


class MemoryWebhookStore(WebhookStore):
    """Keeps them in a dict."""

    def __init__(self) -> None:
        self._lock = Lock()  # guards the dict
        self._webhooks: dict[tuple[Owner, str], Webhook] = {}

    def load(self, owner: Owner, channel_id: str) -> Webhook | None:
        return self._webhooks.get((owner, channel_id))

    def save(self, owner: Owner, webhook: Webhook) -> None:
        with self._lock:
            self._webhooks[owner, webhook.channel_id] = webhook

    def find(self, webhook_id: str) -> Webhook | None:
        with self._lock:
            known = tuple(self._webhooks.values())
        return next((webhook for webhook in known if webhook.id == webhook_id), None)

    def drop(self, webhook_id: str) -> None:
        with self._lock:
            for place, webhook in list(self._webhooks.items()):
                if webhook.id == webhook_id:
                    del self._webhooks[place]
