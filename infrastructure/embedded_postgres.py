"""A Postgres of our own, from a wheel: started by its first user, stopped by its last one."""

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from turnkeeper.application.ports.database_server import DatabaseServer
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.infrastructure.data_folder import default_data_folder, make_folder
from turnkeeper.infrastructure.file_lock import FileLock, Hold, held_alone
from turnkeeper.infrastructure.postgres.cluster import MAKE_S, START_S, STOP_S, USER, Cluster
from turnkeeper.infrastructure.postgres.postmaster import PORT
from turnkeeper.infrastructure.postgres.programs import ProgramFailed

CHANGE_S = MAKE_S + START_S + STOP_S


class EmbeddedPostgres(DatabaseServer):
    """A Postgres server on a folder, shared by all processes that start it there.

    Every user holds a lock that the operating system ends with its process; who leaves and finds
    no other lock stops the server. A killed process cannot, so the server then runs on until its
    next user leaves.

    Root's server runs under an account of its own (see `account_for`) and, unless told otherwise,
    on `/var/lib/turnkeeper`; no folder that was there before becomes more open than it was.

    Attributes:
        data_folder: Holds the folder `postgres`; if None, `default_data_folder()`.
        settings: Settings of Postgres, on top of ours, for who starts it rather than joins it.
        wheel: Where the Postgres wheel is installed, if not where Python finds it.
    """

    def __init__(
        self,
        data_folder: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        wheel: Path | None = None,
    ) -> None:
        # Resolved, since a server is known by the path in its command line.
        self._folder = (data_folder or default_data_folder()).resolve() / "postgres"
        self._cluster = Cluster(self._folder, settings=settings or {}, wheel=wheel)
        self._seat: FileLock | None = None
        self._seated_in: int | None = None

    def start(self) -> str:
        with self._changing():
            if self._seated_in != os.getpid():
                self._take_seat()
            try:
                socket_folder = self._cluster.serve()
            except BaseException:
                self._leave()
                raise
        atexit.register(self.stop)
        host = quote(str(socket_folder), safe="")
        return f"postgresql+psycopg://{USER}@/postgres?host={host}&port={PORT}"

    def stop(self) -> None:
        # A forked child has a copy of this object, but the seat is its parent's.
        if self._seated_in != os.getpid():
            return
        atexit.unregister(self.stop)
        with self._changing():
            self._leave()

    def _take_seat(self) -> None:
        self._seat = FileLock(self._folder / "users.lock")
        self._seat.take(Hold.SHARED, timeout_s=CHANGE_S)
        self._seated_in = os.getpid()

    def _leave(self) -> None:
        assert self._seat is not None
        self._seat.give_back()
        self._seat = self._seated_in = None
        last = FileLock(self._folder / "users.lock")
        try:
            if last.take(Hold.ALONE, timeout_s=0):
                self._cluster.halt()
        finally:
            last.give_back()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            make_folder(self._folder)
            with held_alone(self._folder / "change.lock", timeout_s=CHANGE_S):
                yield
        except (ProgramFailed, OSError) as error:
            raise StoreUnavailable(
                f"the embedded Postgres in {self._folder} cannot be had: {error};"
                " mend that, or set TURNKEEPER_DATABASE_URL to a Postgres server"
            ) from error
