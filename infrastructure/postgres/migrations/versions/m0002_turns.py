"""Running turns: leases, cooldowns, quota, rests, journal, deliveries, signals."""

from datetime import datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = (
    "turns",
    "channel_leases",
    "unreachable_channels",
    "cooldowns",
    "quota_days",
    "quota_periods",
    "quota_units",
    "admission_refusals",
    "model_rests",
    "turn_events",
    "delivery_intents",
    "turn_signals",
)
HALF_EMPTY = {"fillfactor": 50}


def upgrade() -> None:
    """Make the tables."""
    _create_turns()
    _create_channels()
    _create_cooldowns()
    _create_quota()
    _create_refusals_and_rests()
    _create_events()
    _create_intents()
    _create_signals()


def downgrade() -> None:
    """Drop the tables, and with them all that is known of turns."""
    for name in reversed(TABLES):
        op.drop_table(name)


def _create_turns() -> None:
    op.create_table(
        "turns",
        _text("server"),
        _text("turn_id"),
        sa.Column("turn_key", sa.Text),
        _text("channel_id"),
        sa.Column("user_id", sa.Text),
        sa.Column("epoch", sa.Integer, nullable=False),
        _text("status"),
        sa.Column("taken_by", sa.Text),
        _instant("opened_at"),
        _instant("alive_until"),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("result", sa.Text),
        sa.PrimaryKeyConstraint("server", "turn_id", name=op.f("pk_turns")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_index(op.f("uq_turns_turn_key"), "turns", ["server", "turn_key"], unique=True)
    op.create_index(op.f("ix_turns_turn_id"), "turns", ["turn_id"])
    op.create_index(
        op.f("ix_turns_not_ended"),
        "turns",
        ["server", "channel_id"],
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        op.f("ix_turns_taken_by"),
        "turns",
        ["server", "taken_by"],
        postgresql_where=sa.text("taken_by IS NOT NULL"),
    )


def _create_channels() -> None:
    op.create_table(
        "channel_leases",
        _text("server"),
        _text("channel_id"),
        _text("turn_id"),
        _instant("until"),
        sa.PrimaryKeyConstraint("server", "channel_id", name=op.f("pk_channel_leases")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_table(
        "unreachable_channels",
        _text("server"),
        _text("channel_id"),
        _instant("until"),
        sa.PrimaryKeyConstraint("server", "channel_id", name=op.f("pk_unreachable_channels")),
    )


def _create_cooldowns() -> None:
    op.create_table(
        "cooldowns",
        _text("server"),
        _text("scope"),
        _text("trigger_key"),
        _instant("until"),
        sa.PrimaryKeyConstraint("server", "scope", name=op.f("pk_cooldowns")),
        postgresql_with=HALF_EMPTY,
    )


def _create_quota() -> None:
    op.create_table(
        "quota_days",
        _text("server"),
        _text("user_id"),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("server", "user_id", "day", name=op.f("pk_quota_days")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_table(
        "quota_periods",
        _text("server"),
        _instant("period_start"),
        sa.Column("used", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("server", name=op.f("pk_quota_periods")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_table(
        "quota_units",
        _text("server"),
        _text("trigger_key"),
        _text("state"),
        _text("user_id"),
        sa.Column("day", sa.Date),
        sa.Column("period_start", sa.DateTime(timezone=True)),
        sa.Column("holders", ARRAY(sa.Text), nullable=False),
        _instant("expires_at"),
        sa.PrimaryKeyConstraint("server", "trigger_key", name=op.f("pk_quota_units")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_index(
        op.f("ix_quota_units_reserved"),
        "quota_units",
        ["server"],
        postgresql_where=sa.text("state = 'reserved'"),
    )


def _create_refusals_and_rests() -> None:
    op.create_table(
        "admission_refusals",
        _text("server"),
        _text("trigger_key"),
        _text("kind"),
        _instant("refused_at", sa.func.now()),
        sa.PrimaryKeyConstraint("server", "trigger_key", name=op.f("pk_admission_refusals")),
    )
    op.create_table(
        "model_rests",
        _text("owner"),
        _text("place"),
        _text("model"),
        _instant("until"),
        sa.PrimaryKeyConstraint("owner", "place", "model", name=op.f("pk_model_rests")),
    )


def _create_events() -> None:
    op.create_table(
        "turn_events",
        _text("server"),
        _text("turn_id"),
        sa.Column("seq", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at_s", sa.Double, nullable=False),
        _text("kind"),
        _text("data"),
        _instant("written_at", sa.func.clock_timestamp()),
        sa.PrimaryKeyConstraint("server", "turn_id", "seq", name=op.f("pk_turn_events")),
    )
    op.create_index(op.f("ix_turn_events_turn_id"), "turn_events", ["turn_id"])
    op.create_index(
        op.f("ix_turn_events_began"),
        "turn_events",
        ["written_at"],
        postgresql_where=sa.text("seq = 0"),
    )


def _create_intents() -> None:
    op.create_table(
        "delivery_intents",
        _text("server"),
        _text("intent_id"),
        _text("turn_id"),
        sa.Column("epoch", sa.Integer, nullable=False),
        _text("channel_id"),
        sa.Column("thread_id", sa.Text),
        sa.Column("webhook_id", sa.Text),
        _text("origin"),
        _text("content_hash"),
        sa.Column("invocation_no", sa.Integer, nullable=False),
        _text("state"),
        sa.Column("message_id", sa.Text),
        _instant("written_at", sa.func.clock_timestamp()),
        sa.PrimaryKeyConstraint("server", "intent_id", name=op.f("pk_delivery_intents")),
        postgresql_with=HALF_EMPTY,
    )
    op.create_index(op.f("ix_delivery_intents_turn_id"), "delivery_intents", ["turn_id"])


def _create_signals() -> None:
    op.create_table(
        "turn_signals",
        _text("server"),
        _text("turn_id"),
        _text("signal"),
        _text("sender"),
        _instant("sent_at", sa.func.now()),
        sa.PrimaryKeyConstraint("server", "turn_id", name=op.f("pk_turn_signals")),
    )
    op.create_index(op.f("ix_turn_signals_turn_id"), "turn_signals", ["turn_id"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _instant(name: str, default: sa.ColumnElement[datetime] | None = None) -> sa.Column[datetime]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=default)
