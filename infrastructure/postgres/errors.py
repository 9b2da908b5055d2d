"""Turns the errors of the database and its driver into ours."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import exc

from turnkeeper.domain.errors import StoreError, StoreUnavailable

WAY_OUT = "check TURNKEEPER_DATABASE_URL and the server"

# Classes of SQLSTATE after which the same call may go through later: lost connections, refused
# log-ins, conflicts with other transactions, full disks and too many connections, cancelled
# statements and shutdowns, errors of the machine.
PASSING_CLASSES = ("08", "28", "40", "53", "57", "58")
# No such database, read-only, locked, and transactions that took too long.
PASSING = ("3D000", "25006", "55P03", "25P03", "25P04")
# Their texts repeat values, and those are people's.
TELLING_VALUES = ("22", "23")
# The role may not do it.
FORBIDDEN = "42501"
# No such schema, table, column or function.
OTHER_SCHEMA = ("3F000", "42P01", "42703", "42883")


class LacksPrivilege(StoreError):
    """The role that is logged in may not do it."""


@contextmanager
def store_errors() -> Iterator[None]:
    """Let database errors inside appear as StoreUnavailable where they may pass, else StoreError.

    No text repeats a parameter, a value of a row, or a password.
    """
    try:
        yield
    except exc.TimeoutError as error:
        raise StoreUnavailable(
            "all database connections of this process are in use: raise the pool's size, or run"
            " fewer turns at once"
        ) from error
    except exc.InvalidRequestError as error:
        # What the pool says when the connections that it makes anew are ended at once, too.
        raise StoreUnavailable(f"the database was lost: {error}; {WAY_OUT}") from error
    except exc.DBAPIError as error:
        raise _translated(error, error.orig) from _cause(error, error.orig)
    except psycopg.Error as error:
        raise _translated(error, error) from _cause(error, error)


def _translated(error: Exception, origin: BaseException | None) -> StoreError:
    if not isinstance(origin, psycopg.Error):
        return StoreError(f"the database driver failed: {type(error).__name__}")
    state = origin.sqlstate
    if state is None and isinstance(origin, (psycopg.OperationalError, psycopg.InterfaceError)):
        return StoreUnavailable(f"the database was lost: {first_line(origin)}; {WAY_OUT}")
    state = state or "no SQLSTATE"
    if state.startswith(PASSING_CLASSES) or state in PASSING:
        return StoreUnavailable(f"the database cannot do it now: {first_line(origin)} ({state})")
    if state in OTHER_SCHEMA:
        return StoreError(
            f"the database has another schema than this version: {first_line(origin)} ({state});"
            " apply the migrations"
        )
    if state == FORBIDDEN:
        return LacksPrivilege(
            f"the database's role lacks a privilege: {first_line(origin)} ({state}); let the owner"
            " of the tables run `turnkeeper migrate --app-role ROLE`"
        )
    return StoreError(f"the database refused the statement: {_refusal(origin)} ({state})")


def _refusal(origin: psycopg.Error) -> str:
    if not _tells_values(origin):
        return first_line(origin)
    diag = origin.diag
    names = (diag.table_name, diag.column_name, diag.constraint_name)
    return " ".join((type(origin).__name__, *(name for name in names if name)))


def _cause(error: Exception, origin: BaseException | None) -> Exception:
    """The error itself, or, where its text repeats values, one of its kind that does not."""
    if isinstance(origin, psycopg.Error) and _tells_values(origin):
        return type(origin)("(the values are left out)").with_traceback(error.__traceback__)
    return error


def _tells_values(origin: psycopg.Error) -> bool:
    return (origin.sqlstate or "").startswith(TELLING_VALUES)


def first_line(origin: psycopg.Error) -> str:
    """Return the first line of what the server or the driver says, which repeats no value."""
    text = origin.diag.message_primary or str(origin)
    return text.strip().splitlines()[0] if text.strip() else type(origin).__name__
