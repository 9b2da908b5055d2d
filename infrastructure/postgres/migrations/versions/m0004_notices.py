"""What the buttons of fallback notices show."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "notices",
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("channel_id", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text),
        sa.Column("webhook_id", sa.Text),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("server", "message_id", name=op.f("pk_notices")),
    )
    op.create_index("ix_notices_message_id", "notices", ["message_id"])
    op.create_index("ix_notices_expires_at", "notices", ["expires_at"])


def downgrade() -> None:
    """Drop the table; buttons that still stand show nothing any more."""
    op.drop_table("notices")
