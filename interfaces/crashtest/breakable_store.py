"""A Postgres server that is broken on purpose, and mended."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Literal, Self

import psycopg
from sqlalchemy import make_url

from turnkeeper.infrastructure.data_folder import PASSABLE
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.interfaces.crashtest.damage import CLEAR_DISK, END_TURNKEEPERS, FILL_DISK

What = Literal["stopped", "cut off", "no connections", "disk full", "read-only"]

# What is kept need not outlive the machine.
SETTINGS = {"max_connections": "30", "fsync": "off", "full_page_writes": "off"}


class BreakableStore:
    """An embedded Postgres in a folder of its own, for the time of a `with`.

    Attributes:
        servers: The numbers of those who keep something in it.
        url: Where it is.
        folder: For what else belongs to its turnkeeper.
    """

    def __init__(self) -> None:
        self.servers = count(1)

    def __enter__(self) -> Self:
        self._afterwards = ExitStack()
        made = TemporaryDirectory(prefix="tk-", ignore_cleanup_errors=True)
        self.folder = Path(self._afterwards.enter_context(made))
        # Root's database runs under an account of its own, which has to pass through.
        self.folder.chmod(PASSABLE)
        self._server = EmbeddedPostgres(self.folder, settings=SETTINGS)
        self.url = self._server.start()
        self._afterwards.callback(self._server.stop)
        self._held: list[psycopg.Connection[Any]] = []
        self._afterwards.callback(self._let_go)
        self._ways: Mapping[What, tuple[Callable[[], None], Callable[[], None]]] = {
            "stopped": (self._server.stop, self._start),
            "cut off": (self._cut_off, lambda: None),
            "no connections": (self._hold_all, self._let_go),
            "disk full": (self._fill, self._empty),
            "read-only": (self._forbid, self._allow),
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._afterwards.close()

    def break_by(self, what: What) -> None:
        """Let it fail from now on."""
        self._ways[what][0]()

    def mend(self, what: What) -> None:
        """Let it work again."""
        self._ways[what][1]()

    def _start(self) -> None:
        self._server.start()

    def _connect(self) -> psycopg.Connection[Any]:
        plain = make_url(self.url).set(drivername="postgresql")
        return psycopg.connect(plain.render_as_string(hide_password=False), autocommit=True)

    def _do(self, *statements: str) -> None:
        with self._connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _cut_off(self) -> None:
        self._do(END_TURNKEEPERS)

    def _hold_all(self) -> None:
        self._cut_off()
        with suppress(psycopg.OperationalError):  # which is how they say that there are no more
            while True:
                self._held.append(self._connect())

    def _let_go(self) -> None:
        while self._held:
            self._held.pop().close()

    def _fill(self) -> None:
        self._do(*FILL_DISK)

    def _empty(self) -> None:
        self._do(*CLEAR_DISK)

    def _forbid(self) -> None:
        self._do("ALTER DATABASE postgres SET default_transaction_read_only = on", END_TURNKEEPERS)

    def _allow(self) -> None:
        back = "ALTER DATABASE postgres RESET default_transaction_read_only"
        self._do("SET default_transaction_read_only = off", back, END_TURNKEEPERS)
