"""The end of a turn in Postgres: one transaction of a few statements."""

from collections.abc import Sequence

from turnkeeper.application.ports.turn_store import Booked, Closing
from turnkeeper.domain.rotation import BookNeutral
from turnkeeper.infrastructure.journal_codec import result_to_json
from turnkeeper.infrastructure.postgres.admissions import settling
from turnkeeper.infrastructure.postgres.journal import RECORD, rows_to_json
from turnkeeper.infrastructure.postgres.key_booking import NEUTRAL, sql_of, values_of
from turnkeeper.infrastructure.postgres.ledger import MEET, becoming_due, fates_to_json
from turnkeeper.infrastructure.postgres.pipeline import Row, Statement, squeezed

# The channel first, then the turn, as in an opening. A turn that is known and did not end now had
# ended before: that divides by zero, and so undoes all. One that was refused left no row.
END = squeezed(
    """
WITH known AS (
    SELECT 1 FROM turns
    WHERE server = %(server)s AND turn_id = %(turn_id)s AND epoch = %(epoch)s
), freed AS (
    UPDATE channel_leases SET until = now()
    WHERE server = %(server)s AND channel_id = %(channel_id)s AND turn_id = %(turn_id)s
        AND EXISTS (SELECT 1 FROM known)
    RETURNING 1
), ended AS (
    UPDATE turns SET
        status = %(status)s, result = %(result)s, rescued = %(rescued)s, ended_at = now(),
        alive_until = now()
    FROM (SELECT count(*) FROM freed) AS channel_first
    WHERE server = %(server)s AND turn_id = %(turn_id)s AND epoch = %(epoch)s
        AND ended_at IS NULL
    RETURNING 1
), refused AS (
    INSERT INTO turns (server, turn_id, channel_id, user_id, epoch, status, opened_at,
        alive_until, ended_at, result)
    SELECT %(server)s, %(turn_id)s, %(channel_id)s, %(user_id)s, %(epoch)s, %(status)s, now(),
        now(), now(), %(result)s
    WHERE %(is_refused)s
    ON CONFLICT (server, turn_id) DO NOTHING
), met AS (
    """,
    MEET,
    "), recorded AS (",
    RECORD,
    ") SELECT 1 / (1 - (SELECT count(*) FROM known) + (SELECT count(*) FROM ended))",
)


def closing_of(closing: Closing) -> tuple[Statement, ...]:
    """What ends a turn. The bookings come last; see `freeing`.

    Raises:
        psycopg.errors.DivisionByZero: When it is carried out, for a turn that has ended.
    """
    values = {
        "server": str(closing.server),
        "turn_id": closing.turn_id,
        "channel_id": closing.channel_id,
        "epoch": closing.epoch,
        "user_id": closing.user_id,
        "status": closing.result.status.value,
        "rescued": closing.result.was_rescued,
        "is_refused": closing.result.refusal is not None,
        "result": result_to_json(closing.result),
        "fates": fates_to_json(closing.fates),
        "entries": rows_to_json(closing.entries),
    }
    return (
        Statement(END, values),
        settling(closing.settle, turn_id=closing.turn_id, server=closing.server),
        *becoming_due(closing.turn_id, closing.fates),
        *(_booking(booked, sql_of(booked.booking)) for booked in closing.bookings),
    )


def freeing(closing: Closing, answers: Sequence[list[Row]]) -> tuple[Statement, ...]:
    """What gives leases back whose key was edited or removed meanwhile: they booked nothing."""
    booked = zip(reversed(closing.bookings), reversed(answers), strict=False)
    return tuple(
        _booking(one, NEUTRAL)
        for one, rows in booked
        if not rows and not isinstance(one.booking, BookNeutral)
    )


def _booking(booked: Booked, sql: str) -> Statement:
    values = values_of(booked.lease, booked.booking, keeps_lease=booked.keeps_lease)
    return Statement(sql, values)
