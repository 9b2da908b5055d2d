"""The engine: a pool of connections on which nothing hangs and nothing waits needlessly."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.postgres.address import address, without_secret_options
from turnkeeper.infrastructure.postgres.connection import BoundedConnection, has_hung_up
from turnkeeper.infrastructure.postgres.errors import store_errors
from turnkeeper.infrastructure.postgres.log_in import connecting


class Commit(Enum):
    """What a commit waits for."""

    DURABLE = "on"
    ASYNCHRONOUS = "off"


@frozen
class EngineLimits:
    """How long an engine waits for what.

    Attributes:
        connect_s: For a new connection; whole seconds, at least 2.
        checkout_s: For a connection of the pool to become free.
        statement_s: For the server to carry out one statement, locks included.
        silence_s: For anything from a server that should have answered by then.
        idle_transaction_s: For the next statement of an open transaction.
    """

    connect_s: int = 5
    checkout_s: float = 5.0
    statement_s: float = 10.0
    silence_s: float = 15.0
    idle_transaction_s: float = 30.0


def create_engine_for(
    url: str,
    *,
    pool_size: int,
    application_name: str = "turnkeeper",
    commit: Commit = Commit.DURABLE,
    limits: EngineLimits | None = None,
) -> Engine:
    """Return an engine in AUTOCOMMIT whose pool has this size. It connects when it is first used.

    A pooled connection that its server has ended is replaced before it is used, with all others
    of that age, so a restarted server is not noticed. What was already sent is never repeated.

    Raises:
        StoreUnavailable: The URL is not one of a Postgres database.
    """
    limits = limits or EngineLimits()
    target, secret = without_secret_options(address(url))
    engine = create_engine(
        target,
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=limits.checkout_s,
        pool_reset_on_return=None,
        # The connection used last has the most statements prepared.
        pool_use_lifo=True,
        use_native_hstore=False,
        hide_parameters=True,
        connect_args={
            "application_name": application_name,
            "connect_timeout": limits.connect_s,
            "options": _options(target, limits, commit),
            "keepalives_idle": 30,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(limits.silence_s * 1000),
            **secret,
        },
    )
    event.listen(engine, "do_connect", connecting(target, secret, limits.silence_s))
    event.listen(engine, "checkout", _refuse_hung_up)
    return engine


def _options(url: URL, limits: EngineLimits, commit: Commit) -> str:
    settings = {
        "timezone": "UTC",
        # Planning a turn's statement for its own values takes longer than the statement.
        "plan_cache_mode": "force_generic_plan",
        "synchronous_commit": commit.value,
        "statement_timeout": int(limits.statement_s * 1000),
        "idle_in_transaction_session_timeout": int(limits.idle_transaction_s * 1000),
    }
    given = url.query.get("options", "")
    ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
    # The URL's own come last, so that they win.
    return " ".join((ours, *((given,) if isinstance(given, str) else given))).strip()


def _refuse_hung_up(connection: BoundedConnection, record: object, proxy: object) -> None:
    if has_hung_up(connection):
        raise exc.InvalidatePoolError("the server has ended the connection")


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """A connection on which every statement is its own transaction; errors become ours."""
    with store_errors(), engine.connect() as connection:
        yield connection


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A connection in one short transaction, undone by an exception; errors become ours.

    Costs two round trips more than its statements.
    """
    with store_errors(), engine.connect() as connection:
        serial = connection.execution_options(isolation_level="READ COMMITTED")
        with serial.begin():
            yield serial
