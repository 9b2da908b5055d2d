"""The orders in which keys are looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None

ROTATES = "enabled AND NOT disabled AND rests_until IS"
INDEXES = {
    "ix_key_state_fit": (["owner", "provider", "usage_count", "key_id"], f"{ROTATES} NULL"),
    "ix_key_state_rests": (["owner", "provider", "rests_until"], f"{ROTATES} NOT NULL"),
}


def upgrade() -> None:
    """Index the keys that may be lent by their use, and those that rest by when they are back."""
    for name, (columns, which) in INDEXES.items():
        op.create_index(name, "key_state", columns, postgresql_where=sa.text(which))


def downgrade() -> None:
    """Drop the indexes; leases are as right without them, and slower in large pools."""
    for name in INDEXES:
        op.drop_index(name, "key_state")
