"""Webhooks in Postgres, their tokens sealed."""

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Sealed
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore
from turnkeeper.infrastructure.postgres.discord_tables import discord_webhooks
from turnkeeper.infrastructure.postgres.engine import connected

PROVIDER = "discord"
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
    """One row a channel; a token opens only in the row of its own webhook."""

    def __init__(self, engine: Engine, *, vault: Vault) -> None:
        self._engine = engine
        self._vault = vault

    def load(self, owner: Owner, channel_id: str) -> Webhook | None:
        table = discord_webhooks.c
        query = select(table.webhook_id, table.sealed, table.key_version).where(
            table.owner == str(owner), table.channel_id == channel_id
        )
        with connected(self._engine) as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        sealed = Sealed(version=row.key_version, data=row.sealed)
        token = self._vault.open(
            sealed, owner=owner, provider=PROVIDER, row=_row(channel_id, row.webhook_id)
        )
        return Webhook(id=row.webhook_id, channel_id=channel_id, token=token)

    def save(self, owner: Owner, webhook: Webhook) -> None:
        row = _row(webhook.channel_id, webhook.id)
        sealed = self._vault.seal(webhook.token, owner=owner, provider=PROVIDER, row=row)
        values = {
            "owner": str(owner),
            "channel_id": webhook.channel_id,
            "webhook_id": webhook.id,
            "sealed": sealed.data,
            "key_version": sealed.version,
        }
        with connected(self._engine) as connection:
            connection.execute(SAVE, values)

    def drop(self, owner: Owner, webhook: Webhook) -> None:
        table = discord_webhooks.c
        gone = delete(discord_webhooks).where(
            table.owner == str(owner),
            table.channel_id == webhook.channel_id,
            table.webhook_id == webhook.id,
        )
        with connected(self._engine) as connection:
            connection.execute(gone)


def _row(channel_id: str, webhook_id: str) -> str:
    return f"webhook {webhook_id} of channel {channel_id}"
