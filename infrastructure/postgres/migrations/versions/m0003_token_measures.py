"""What is learnt of how models count tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "token_measures",
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("factor", sa.Double, nullable=False),
        sa.Column(
            "learnt_at",
            sa.DateTime(timezone=True),
            nullable=False,
            server_default=sa.func.now(),
        ),
        sa.PrimaryKeyConstraint("provider", "model", name=op.f("pk_token_measures")),
    )


def downgrade() -> None:
    """Drop the table; what was learnt is learnt again."""
    op.drop_table("token_measures")
