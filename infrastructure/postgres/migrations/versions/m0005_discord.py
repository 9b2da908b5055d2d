"""What turns need to speak in Discord."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "discord_webhooks",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("channel_id", sa.Text, nullable=False),
        sa.Column("webhook_id", sa.Text, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("key_version", sa.Integer, nullable=False),
        sa.Column(
            "saved_at",
            sa.DateTime(timezone=True),
            nullable=False,
            server_default=sa.func.now(),
        ),
        sa.PrimaryKeyConstraint("owner", "channel_id", name=op.f("pk_discord_webhooks")),
    )
    op.create_index(op.f("ix_discord_webhooks_webhook_id"), "discord_webhooks", ["webhook_id"])


def downgrade() -> None:
    """Drop the table; the webhooks are found again by their names."""
    op.drop_table("discord_webhooks")
