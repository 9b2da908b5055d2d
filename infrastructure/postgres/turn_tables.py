"""The tables of running turns: who may speak where, what was granted, posted, noted and signalled.

Each begins its primary key with the server, written ``server:ID``, or with an owner, so that the
tables can be split by it; none refers to another, so that each can be pruned by itself. All
instants are the database's own. Rows that every turn writes are kept half empty, with nothing
indexed that changes, so that an update stays on its page.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    Index,
    Integer,
    Table,
    Text,
    false,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from turnkeeper.infrastructure.postgres.metadata import metadata

Instant = DateTime(timezone=True)
HALF_EMPTY = {"fillfactor": 50}

# A turn that has ended has a result and `ended_at`. One that was found dead is `given_up`, and its
# key has moved to `lost_key`; `ended_at` is set once somebody has swept up after it. `sweep_due` is
# until when a sweeper's claim holds, or when what is left of an ended turn is due.
turns = Table(
    "turns",
    metadata,
    Column("server", Text, primary_key=True),
    Column("turn_id", Text, primary_key=True),
    Column("turn_key", Text),
    Column("channel_id", Text, nullable=False),
    Column("user_id", Text),
    Column("epoch", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("taken_by", Text),
    Column("opened_at", Instant, nullable=False),
    Column("alive_until", Instant, nullable=False),
    Column("ended_at", Instant),
    Column("result", Text),
    Column("lost_key", Text),
    Column("sweep_due", Instant),
    Column("sweeps", Integer, nullable=False, server_default=text("0")),
    Column("swept_by", Text),
    Column("rescued", Boolean, nullable=False, server_default=false()),
    Index("uq_turns_turn_key", "server", "turn_key", unique=True),
    Index("ix_turns_turn_id", "turn_id"),
    Index("ix_turns_not_ended", "server", "channel_id", postgresql_where=text("ended_at IS NULL")),
    Index("ix_turns_taken_by", "server", "taken_by", postgresql_where=text("taken_by IS NOT NULL")),
    Index("ix_turns_sweep_due", "sweep_due", postgresql_where=text("sweep_due IS NOT NULL")),
    # For people who look back. What most turns are is in none but the first three.
    Index("ix_turns_opened", "opened_at", "turn_id"),
    Index("ix_turns_server_opened", "server", "opened_at", "turn_id"),
    Index(
        "ix_turns_user_opened",
        "user_id",
        "opened_at",
        "turn_id",
        postgresql_where=text("user_id IS NOT NULL"),
    ),
    Index(
        "ix_turns_status_opened",
        "status",
        "opened_at",
        "turn_id",
        postgresql_where=text("status <> 'completed'"),
    ),
    Index("ix_turns_rescued", "opened_at", "turn_id", postgresql_where=text("rescued")),
    postgresql_with=HALF_EMPTY,
)

channel_leases = Table(
    "channel_leases",
    metadata,
    Column("server", Text, primary_key=True),
    Column("channel_id", Text, primary_key=True),
    Column("turn_id", Text, nullable=False),
    Column("until", Instant, nullable=False),
    postgresql_with=HALF_EMPTY,
)

unreachable_channels = Table(
    "unreachable_channels",
    metadata,
    Column("server", Text, primary_key=True),
    Column("channel_id", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)

# The scope is empty, ``user:ID`` or ``channel:ID``.
cooldowns = Table(
    "cooldowns",
    metadata,
    Column("server", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("trigger_key", Text, nullable=False),
    Column("until", Instant, nullable=False),
    postgresql_with=HALF_EMPTY,
)

quota_days = Table(
    "quota_days",
    metadata,
    Column("server", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("day", Date, primary_key=True),
    Column("used", Integer, nullable=False),
    postgresql_with=HALF_EMPTY,
)

quota_periods = Table(
    "quota_periods",
    metadata,
    Column("server", Text, primary_key=True),
    Column("period_start", Instant, nullable=False),
    Column("used", Integer, nullable=False),
    postgresql_with=HALF_EMPTY,
)

# One unit a trigger: released, reserved or charged. It counts where it was reserved: `day` and
# `period_start` are null where that limit did not apply.
quota_units = Table(
    "quota_units",
    metadata,
    Column("server", Text, primary_key=True),
    Column("trigger_key", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("day", Date),
    Column("period_start", Instant),
    Column("holders", ARRAY(Text), nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index("ix_quota_units_reserved", "server", postgresql_where=text("state = 'reserved'")),
    postgresql_with=HALF_EMPTY,
)

admission_refusals = Table(
    "admission_refusals",
    metadata,
    Column("server", Text, primary_key=True),
    Column("trigger_key", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("refused_at", Instant, nullable=False, server_default=func.now()),
)

model_rests = Table(
    "model_rests",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("place", Text, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("until", Instant, nullable=False),
)

# What reports look for, in the words of the indexes below. `data` is not parsed, as a JSON parser
# refuses some of it; within a text of it each quotation mark is escaped, so that these are exact.
HAS_FAILED = """kind = 'invocation_ended' AND strpos(data, '"failure":{') > 0"""
IS_KEY_ERROR = """kind = 'key_booked' AND strpos(data, '"booking":"error"') > 0"""

# `data` is JSON in ASCII, kept as text since it may speak of characters that JSONB refuses. The
# server is empty where the turn is not known.
turn_events = Table(
    "turn_events",
    metadata,
    Column("server", Text, primary_key=True),
    Column("turn_id", Text, primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at_s", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("written_at", Instant, nullable=False, server_default=func.clock_timestamp()),
    Index("ix_turn_events_turn_id", "turn_id"),
    Index("ix_turn_events_began", "written_at", postgresql_where=text("seq = 0")),
    Index("ix_turn_events_failed", "turn_id", postgresql_where=text(HAS_FAILED)),
    Index("ix_turn_events_key_errors", "written_at", postgresql_where=text(IS_KEY_ERROR)),
)

delivery_intents = Table(
    "delivery_intents",
    metadata,
    Column("server", Text, primary_key=True),
    Column("intent_id", Text, primary_key=True),
    Column("turn_id", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("channel_id", Text, nullable=False),
    Column("thread_id", Text),
    Column("webhook_id", Text),
    Column("origin", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("invocation_no", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("message_id", Text),
    Column("written_at", Instant, nullable=False, server_default=func.clock_timestamp()),
    Column("webhook_is_temporary", Boolean, nullable=False, server_default=false()),
    Column("chars", Integer, nullable=False, server_default=text("0")),
    Index("ix_delivery_intents_turn_id", "turn_id"),
    postgresql_with=HALF_EMPTY,
)

# What the buttons of fallback notices show; `details` is JSON in ASCII, as `data` above. One whose
# time is over is claimed by whoever disables its button.
notices = Table(
    "notices",
    metadata,
    Column("server", Text, primary_key=True),
    Column("message_id", Text, primary_key=True),
    Column("channel_id", Text, nullable=False),
    Column("thread_id", Text),
    Column("webhook_id", Text),
    Column("details", Text, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("claimed_until", Instant),
    Column("user_id", Text),
    Index("ix_notices_message_id", "message_id"),
    Index("ix_notices_expires_at", "expires_at"),
    Index("ix_notices_user_id", "user_id", postgresql_where=text("user_id IS NOT NULL")),
)

turn_signals = Table(
    "turn_signals",
    metadata,
    Column("server", Text, primary_key=True),
    Column("turn_id", Text, primary_key=True),
    Column("signal", Text, nullable=False),
    Column("sender", Text, nullable=False),
    Column("sent_at", Instant, nullable=False, server_default=func.now()),
    Index("ix_turn_signals_turn_id", "turn_id"),
)
