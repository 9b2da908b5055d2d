"""Which tools a server has switched off."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; every tool is on."""
    none = sa.text("'[]'::jsonb")
    op.add_column(
        "owner_settings", sa.Column("tools_off", JSONB, nullable=False, server_default=none)
    )


def downgrade() -> None:
    """Drop it; every tool is on again."""
    op.drop_column("owner_settings", "tools_off")
