"""The orders in which keys are looked at."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ROTATES = "enabled AND NOT disabled AND rests_until IS"
INDEXES = {
    "ix_key_state_fit": (["owner", "provider", "usage_count", "key_id"], f"{ROTATES} NULL"),
    "ix_key_state_rests": (["owner", "provider", "rests_until"], f"{ROTATES} NOT NULL"),
}
FINGERPRINT = "uq_provider_keys_fingerprint"


def upgrade() -> None:
    """Index the keys that may be lent by their use, and those that rest by when they are back.

    The fingerprint's index no longer looks like one for a key's id.
    """
    for name, (columns, which) in INDEXES.items():
        op.create_index(name, "key_state", columns, postgresql_where=sa.text(which))
    _index_fingerprints("fingerprint", "owner", "provider")


def downgrade() -> None:
    """Drop the indexes; leases are as right without them, and slower in large pools."""
    _index_fingerprints("owner", "provider", "fingerprint")
    for name in INDEXES:
        op.drop_index(name, "key_state")


def _index_fingerprints(*columns: str) -> None:
    op.drop_index(FINGERPRINT, "provider_keys")
    op.create_index(FINGERPRINT, "provider_keys", columns, unique=True)
