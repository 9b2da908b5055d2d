"""Opens connections; what is secret of the log-in is in no error and in no log."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import psycopg
from sqlalchemy import URL, Dialect

from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.redact import redact
from turnkeeper.infrastructure.postgres.address import place
from turnkeeper.infrastructure.postgres.connection import BoundedConnection
from turnkeeper.infrastructure.postgres.errors import WAY_OUT, first_line

Connect = Callable[[Dialect, object, tuple[Any, ...], dict[str, Any]], BoundedConnection]


def connecting(url: URL, secret: Mapping[str, str], silence_s: float) -> Connect:
    """What an engine connects with.

    Args:
        secret: What else than the password nobody may see.
        silence_s: How long a connection waits for an answer.
    """
    secrets = tuple(filter(None, (url.password, *secret.values())))
    _WITHOUT_SECRETS.add(secrets)

    def connect(
        dialect: Dialect, record: object, args: tuple[Any, ...], parameters: dict[str, Any]
    ) -> BoundedConnection:
        opened = _opened(args, parameters)
        if isinstance(opened, BoundedConnection):
            opened.answer_timeout_s = silence_s
            return opened
        # Not where the driver's error is handled: it holds the password, and the server, or what
        # stands before it, may have repeated it.
        cause = type(opened)(redact(str(opened), secrets))
        said = redact(first_line(opened), secrets)
        raise StoreUnavailable(f"{place(url)} cannot be reached: {said}; {WAY_OUT}") from cause

    return connect


def _opened(args: tuple[Any, ...], parameters: dict[str, Any]) -> BoundedConnection | psycopg.Error:
    try:
        return BoundedConnection.connect(*args, **parameters)
    except psycopg.Error as error:
        return error


class _WithoutSecrets(logging.Filter):
    """Takes passwords out of what the driver logs: at DEBUG, whatever a server has said."""

    def __init__(self) -> None:
        super().__init__()
        self._secrets: frozenset[str] = frozenset()

    def add(self, secrets: Iterable[str]) -> None:
        self._secrets |= frozenset(secrets)
        logging.getLogger("psycopg").addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage(), self._secrets), ()
        return True


_WITHOUT_SECRETS = _WithoutSecrets()
