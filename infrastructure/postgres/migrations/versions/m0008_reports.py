"""Indexes by which the pages of the dashboard find what failed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLE = "turn_events"
HAS_FAILED = sa.text("""kind = 'invocation_ended' AND strpos(data, '"failure":{') > 0""")
IS_KEY_ERROR = sa.text("""kind = 'key_booked' AND strpos(data, '"booking":"error"') > 0""")


def upgrade() -> None:
    """Make the indexes."""
    op.create_index("ix_turn_events_failed", TABLE, ["turn_id"], postgresql_where=HAS_FAILED)
    op.create_index(
        "ix_turn_events_key_errors", TABLE, ["written_at"], postgresql_where=IS_KEY_ERROR
    )


def downgrade() -> None:
    """Drop them; the pages become slow."""
    for name in ("key_errors", "failed"):
        op.drop_index(f"ix_turn_events_{name}", TABLE)
