"""Webhooks in Postgres, their tokens sealed."""

from sqlalchemy import ColumnElement, Engine, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore
from turnkeeper.infrastructure.postgres.discord_tables import discord_webhooks
from turnkeeper.infrastructure.postgres.engine import connected

PROVIDER = "discord"
HAS = discord_webhooks.c
NEW = insert(discord_webhooks)
SAVE = NEW.on_conflict_do_update(
    index_elements=["owner", "channel_id"],
    set_={
        "webhook_id": NEW.excluded.webhook_id,
        "sealed": NEW.excluded.sealed,
        "key_version": NEW.excluded.key_version,
        "saved_at": func.now(),
    },
)


class PostgresWebhookStore(WebhookStore):
    """One row a channel; a token opens only for its owner and its webhook."""

    def __init__(self, engine: Engine, *, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    def load(self, owner: Owner, channel_id: str) -> Webhook | None:
        return self._one(HAS.owner == str(owner), HAS.channel_id == channel_id)

    def find(self, webhook_id: str) -> Webhook | None:
        return self._one(HAS.webhook_id == webhook_id)

    def save(self, owner: Owner, webhook: Webhook) -> None:
        sealed = self._vault.seal(webhook.token, owner=owner, provider=PROVIDER, row=webhook.id)
        values = {
            "owner": str(owner),
            "channel_id": webhook.channel_id,
            "webhook_id": webhook.id,
            "sealed": sealed.data,
            "key_version": sealed.version,
        }
        with connected(self._engine) as connection:
            connection.execute(SAVE, values)

    def drop(self, webhook_id: str) -> None:
        with connected(self._engine) as connection:
            connection.execute(delete(discord_webhooks).where(HAS.webhook_id == webhook_id))

    def _one(self, *which: ColumnElement[bool]) -> Webhook | None:
        with connected(self._engine) as connection:
            row = connection.execute(select(discord_webhooks).where(*which)).first()
        if row is None:
            return None
        token = self._vault.open(
            Sealed(version=row.key_version, data=row.sealed),
            owner=Owner.parse(row.owner),
            provider=PROVIDER,
            row=row.webhook_id,
        )
        return Webhook(id=row.webhook_id, channel_id=row.channel_id, token=token)
