"""The tables of what turns need to speak in Discord."""

from sqlalchemy import Column, Integer, LargeBinary, Table, Text, func

from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.postgres.tables import Instant

discord_webhooks = Table(
    "discord_webhooks",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("channel_id", Text, primary_key=True),
    Column("webhook_id", Text, nullable=False, index=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("key_version", Integer, nullable=False),
    Column("saved_at", Instant, nullable=False, server_default=func.now()),
)
