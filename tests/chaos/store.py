"""A database server that is beaten, and recovers."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from chaos.proxy import Proxy
from folders import make_passable_folder

from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.postgres.cluster import DATA, USER
from turnkeeper.infrastructure.postgres.postmaster import PORT, Postmaster
from turnkeeper.interfaces.crashtest.damage import CLEAR_DISK, END_TURNKEEPERS, FILL_DISK

MOST_CONNECTIONS = 80
# Test data need not outlive the machine; it does outlive the server.
SETTINGS = {
    "max_connections": str(MOST_CONNECTIONS),
    "fsync": "off",
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}
TOLD_S = 0.1
"""How long the server takes to tell the backends that there are."""


class BeatenStore:
    """An embedded Postgres behind a proxy.

    Attributes:
        url: The way through the proxy, for those who are to be harmed.
        direct_url: The way around it.
    """

    def __init__(self, folder: Path, proxy_folder: Path) -> None:
        self._folder = folder
        self._server = EmbeddedPostgres(folder, settings=SETTINGS)
        self.direct_url = self._server.start()
        self._data = folder.resolve() / "postgres" / DATA
        postmaster = self._postmaster()
        assert postmaster is not None
        assert postmaster.socket_folder is not None
        self.proxy = Proxy(proxy_folder, postmaster.socket_folder)
        host = quote(str(proxy_folder), safe="")
        self.url = f"postgresql+psycopg://{USER}@/postgres?host={host}&port={PORT}"
        self._plain_host = str(postmaster.socket_folder)

    def close(self) -> None:
        self._server.stop()

    def stop_at_once(self) -> None:
        """As a crash does: without a last word to anybody, and nothing written down."""
        postmaster = self._postmaster()
        if postmaster is not None and postmaster.lives():
            os.kill(postmaster.pid, signal.SIGQUIT)
            while postmaster.lives():
                time.sleep(0.01)

    def start(self) -> None:
        self._server.start()

    def connect(self, name: str = "chaos") -> psycopg.Connection[Any]:
        """A connection of our own, around the proxy."""
        return psycopg.connect(
            host=self._plain_host,
            port=PORT,
            user=USER,
            dbname="postgres",
            autocommit=True,
            application_name=name,
        )

    def say(self, *statements: str) -> None:
        with self.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            for statement in statements:
                connection.execute(statement.encode())

    def end_backends(self) -> int:
        """End all connections of turnkeepers, wherever their transactions are."""
        with self.connect() as connection:
            row = connection.execute(END_TURNKEEPERS).fetchone()
        return int(row[0]) if row else 0

    # ── blows: each is over when its block is ───────────────────────────────────────────────

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stop_at_once()
        yield
        self.start()

    @contextmanager
    def restarted(self) -> Iterator[None]:
        self.stop_at_once()
        self.start()
        yield

    @contextmanager
    def slow(self) -> Iterator[None]:
        self.proxy.delay_s = 0.15
        yield
        self.proxy.delay_s = 0.0

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self.proxy.freeze()
        yield
        self.proxy.thaw()

    @contextmanager
    def cut(self) -> Iterator[None]:
        self.proxy.cut()
        yield
        self.proxy.cut()

    @contextmanager
    def crowded(self) -> Iterator[None]:
        """Others have taken all connections, those of the turnkeepers too."""
        with ExitStack() as stack:
            first = stack.enter_context(self.connect("crowd"))
            self._take_all(stack)
            first.execute(END_TURNKEEPERS)
            self._take_all(stack)
            yield

    @contextmanager
    def read_only(self) -> Iterator[None]:
        self._set("default_transaction_read_only", "on")
        yield
        self._set("default_transaction_read_only", "off")

    @contextmanager
    def terminated(self) -> Iterator[None]:
        """Backends end all the time, some within a transaction."""
        for _ in range(3):
            self.end_backends()
            time.sleep(0.05)
        yield
        self.end_backends()

    @contextmanager
    def disk_full(self) -> Iterator[None]:
        self.say(*FILL_DISK)
        yield
        self.say(*CLEAR_DISK)

    def blow(self, kind: str) -> Callable[[], Any]:
        """The blow of that kind, as ``read only``."""
        found: Callable[[], Any] = getattr(self, kind.replace(" ", "_"))
        return found

    def _take_all(self, stack: ExitStack) -> None:
        with suppress(psycopg.OperationalError):
            for _ in range(MOST_CONNECTIONS):
                stack.enter_context(self.connect("crowd"))

    def _set(self, name: str, value: str) -> None:
        """Change a setting of the server; over once whoever connects finds it changed."""
        self.say(f"ALTER SYSTEM SET {name} = {value}", "SELECT pg_reload_conf()")
        while self._shown(name) != value:
            time.sleep(0.01)
        time.sleep(TOLD_S)

    def _shown(self, name: str) -> str:
        with self.connect() as connection:
            row = connection.execute(f"SHOW {name}".encode()).fetchone()
        return str(row[0]) if row else ""

    def _postmaster(self) -> Postmaster | None:
        return Postmaster.on(self._data)


@contextmanager
def beaten_store() -> Iterator[BeatenStore]:
    """A store of one's own, as long as the `with` lasts."""
    folders = make_passable_folder(), make_passable_folder()
    store = BeatenStore(*folders)
    try:
        with store.proxy:
            yield store
    finally:
        store.close()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
