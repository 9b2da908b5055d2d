"""What a sweep after dead turns has to know."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ZERO = sa.text("0")


def upgrade() -> None:
    """Add the columns, and an index on what is due."""
    op.add_column("turns", sa.Column("lost_key", sa.Text))
    op.add_column("turns", sa.Column("sweep_due", sa.DateTime(timezone=True)))
    op.add_column("turns", sa.Column("sweeps", sa.Integer, nullable=False, server_default=ZERO))
    op.add_column("turns", sa.Column("swept_by", sa.Text))
    due = sa.text("sweep_due IS NOT NULL")
    op.create_index("ix_turns_sweep_due", "turns", ["sweep_due"], postgresql_where=due)
    op.add_column(
        "delivery_intents",
        sa.Column("webhook_is_temporary", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.add_column(
        "delivery_intents", sa.Column("chars", sa.Integer, nullable=False, server_default=ZERO)
    )


def downgrade() -> None:
    """Drop them; what is stuck is not tried again."""
    for name in ("chars", "webhook_is_temporary"):
        op.drop_column("delivery_intents", name)
    op.drop_index("ix_turns_sweep_due", "turns")
    for name in ("swept_by", "sweeps", "sweep_due", "lost_key"):
        op.drop_column("turns", name)
