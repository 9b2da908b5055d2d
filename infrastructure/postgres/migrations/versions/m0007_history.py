"""What people who look back at turns ask for, and who asked for what a notice tells."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

INDEXES: tuple[tuple[str, list[str], str | None], ...] = (
    ("ix_turns_opened", ["opened_at", "turn_id"], None),
    ("ix_turns_server_opened", ["server", "opened_at", "turn_id"], None),
    ("ix_turns_user_opened", ["user_id", "opened_at", "turn_id"], "user_id IS NOT NULL"),
    ("ix_turns_status_opened", ["status", "opened_at", "turn_id"], "status <> 'completed'"),
    ("ix_turns_rescued", ["opened_at", "turn_id"], "rescued"),
)
# In a result, a quote within a text is written \", so that this is only ever the field itself.
MARK_RESCUED = """
UPDATE turns SET rescued = true
WHERE status = 'completed' AND result LIKE '%"failures":[{%'
"""


def upgrade() -> None:
    """Add which turns were rescued, the indexes of the pages of turns, and whose notices are."""
    rescued = sa.Column("rescued", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("turns", rescued)
    op.execute(sa.text(MARK_RESCUED.replace(":", r"\:")))
    for name, columns, where in INDEXES:
        op.create_index(
            name, "turns", columns, postgresql_where=None if where is None else sa.text(where)
        )
    op.add_column("notices", sa.Column("user_id", sa.Text))
    known = sa.text("user_id IS NOT NULL")
    op.create_index("ix_notices_user_id", "notices", ["user_id"], postgresql_where=known)


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_notices_user_id", "notices")
    op.drop_column("notices", "user_id")
    for name, _, _ in reversed(INDEXES):
        op.drop_index(name, "turns")
    op.drop_column("turns", "rescued")
