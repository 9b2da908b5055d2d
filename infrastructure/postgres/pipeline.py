"""Several statements, one transaction, one round trip; and their rows."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import psycopg
from psycopg.rows import dict_row
from sqlalchemy import Engine

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.postgres.connection import BoundedConnection
from turnkeeper.infrastructure.postgres.errors import store_errors

TRIES = 3
# Two transactions were in each other's way; this one was undone and may be repeated as it was.
CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)

Row = dict[str, Any]


def squeezed(*parts: str) -> str:
    """The text of a statement from its parts, without needless blanks.

    The driver translates a text of more than 4,096 characters anew each time. Blanks in literals
    are squeezed too.
    """
    return re.sub(r" ?([(),=<>+*|]) ?", r"\1", " ".join(" ".join(parts).split()))


@frozen(kw_only=False)
class Statement:
    """One statement in the driver's own form, with ``%(name)s`` for values."""

    sql: str
    values: Mapping[str, object] = field(default_factory=dict)


BEGIN = Statement("BEGIN")
COMMIT = Statement("COMMIT")
COMMIT_SOON = Statement("SET LOCAL synchronous_commit TO off")


def run(engine: Engine, *statements: Statement, durable: bool = True) -> tuple[list[Row], ...]:
    """Carry the statements out, all or none, and return the rows of each.

    They are sent without waiting for each other, so that they cost one wait together. Each sees
    what others have committed until it began. A conflict with another transaction is repeated.

    Args:
        engine: An engine in AUTOCOMMIT.
        durable: False lets the commit reach the disk a moment after the call returns.

    Raises:
        StoreUnavailable: Nothing was done; or, if the connection broke, nobody knows.
    """
    with store_errors():
        for _ in range(TRIES - 1):
            try:
                return _once(engine, statements, durable=durable)
            except CONFLICTS:
                continue
        return _once(engine, statements, durable=durable)


def _once(
    engine: Engine, statements: tuple[Statement, ...], *, durable: bool
) -> tuple[list[Row], ...]:
    pooled = engine.raw_connection()
    driver = pooled.driver_connection
    assert isinstance(driver, BoundedConnection)
    try:
        if durable and len(statements) == 1:
            cursors = [_sent(driver, statements[0])]
        else:
            cursors = _sent_together(driver, statements, durable=durable)
        return tuple([_rows_of(cursor) for cursor in cursors])
    except BaseException:
        # Whatever state it is in, nobody else is to find it so.
        pooled.invalidate()
        raise
    finally:
        pooled.close()


def _sent_together(
    driver: BoundedConnection, statements: tuple[Statement, ...], *, durable: bool
) -> list[psycopg.Cursor[Row]]:
    # What is sent before the one point of synchronization is one transaction to the server. The
    # driver's own would wait for answers on the way.
    with driver.pipeline():
        if durable:
            return [_sent(driver, statement) for statement in statements]
        for first in (BEGIN, COMMIT_SOON):
            _sent(driver, first)
        cursors = [_sent(driver, statement) for statement in statements]
        _sent(driver, COMMIT)
        return cursors


def _sent(driver: BoundedConnection, statement: Statement) -> psycopg.Cursor[Row]:
    return driver.cursor(row_factory=dict_row).execute(statement.sql, statement.values)


def _rows_of(cursor: psycopg.Cursor[Row]) -> list[Row]:
    return [] if cursor.rownumber is None else cursor.fetchall()
