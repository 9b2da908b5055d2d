"""The one thread of a process that listens for signals to its turns."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from selectors import EVENT_READ, DefaultSelector
from threading import Lock

import psycopg
from psycopg import sql
from sqlalchemy import Engine

from turnkeeper.application.ports.runner import Runner, Stop, Work
from turnkeeper.domain.answers import Signal
from turnkeeper.infrastructure.postgres.connection import BoundedConnection
from turnkeeper.infrastructure.postgres.errors import store_errors

CHANNEL = "turnkeeper_signal"
CLOSE_S = 5.0
SENT = "SELECT turn_id, signal FROM turn_signals WHERE turn_id = ANY (%s)"

Heard = Callable[[Signal], None]


class Bell:
    """Wakes a thread that waits for a connection to become readable."""

    def __init__(self) -> None:
        self._in, self._out = socket.socketpair()
        self._in.setblocking(False)
        self._out.setblocking(False)

    def ring(self) -> None:
        """Wake whoever waits, or the next who does."""
        with suppress(OSError):  # full: it has been rung; or closed: nobody waits any more
            self._out.send(b"!")

    def wait(self, timeout_s: float | None, *others: int) -> None:
        """Return when it rings, another descriptor is readable, or the time is over."""
        with DefaultSelector() as selector:
            for descriptor in (self._in.fileno(), *others):
                selector.register(descriptor, EVENT_READ)
            selector.select(timeout_s)
        with suppress(BlockingIOError):  # it did not ring
            self._in.recv(4096)

    def close(self) -> None:
        """Give its sockets back."""
        self._in.close()
        self._out.close()


class SignalListener:
    """Tells who watches a turn of a signal to it, once.

    It connects when something is watched for the first time, and looks at all watched turns at
    once: when notified, and each `poll_s` anyway. While nothing is watched it asks nothing.
    """

    def __init__(self, engine: Engine, *, runner: Runner, poll_s: float) -> None:
        self._engine = engine
        self._runner = runner
        self._poll_s = poll_s
        self._lock = Lock()  # guards the four below
        self._watches: dict[object, tuple[str, Heard]] = {}
        self._bell: Bell | None = None
        self._work: Work[None] | None = None
        self._closed = False

    def watch(self, turn_id: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` in the listener's thread; returns what ends that."""
        ticket = object()
        with self._lock:
            was_idle = not self._watches
            self._watches[ticket] = turn_id, heard
            if self._work is None and not self._closed:
                self._start()
            bell = self._bell
        if was_idle and bell is not None:
            bell.ring()
        return lambda: self._forget(ticket)

    def close(self) -> None:
        """End the thread and its connection; a second close does nothing."""
        with self._lock:
            self._closed = True
            work = self._work
        if work is not None:
            work.abandon(CLOSE_S)

    def _start(self) -> None:
        bell = Bell()
        try:
            self._work = self._runner.start(lambda stop: self._run(stop, bell), "signals")
        except BaseException:
            bell.close()
            raise
        self._bell = bell

    def _forget(self, ticket: object) -> None:
        with self._lock:
            self._watches.pop(ticket, None)

    # ── the thread ──────────────────────────────────────────────────────────────────────────

    def _run(self, stop: Stop, bell: Bell) -> None:
        forget = stop.on_stop(bell.ring)
        while not stop.is_set:
            if not self._watches:
                bell.wait(None)
                continue
            with suppress(Exception):  # the store may be away for as long as it likes
                self._listen(stop, bell)
            if not stop.is_set:
                bell.wait(self._poll_s)
        forget()
        bell.close()

    def _listen(self, stop: Stop, bell: Bell) -> None:
        with self._connected() as connection:
            hints: set[str] = set()
            connection.add_notify_handler(lambda notice: hints.add(notice.payload))
            while not stop.is_set:
                hints.clear()  # before the look, which may miss what is hinted at meanwhile
                self._look(connection)
                self._await(connection, hints, stop, bell)

    def _await(
        self, connection: BoundedConnection, hints: set[str], stop: Stop, bell: Bell
    ) -> None:
        """Return when it is time to look: a watched turn was hinted at, or the poll is due."""
        due_s = time.monotonic() + self._poll_s
        while not stop.is_set:
            turn_ids = self._turn_ids()
            left_s = max(0.0, due_s - time.monotonic()) if turn_ids else None
            if hints & turn_ids or left_s == 0.0:
                return
            bell.wait(left_s, connection.fileno())
            _read_hints(connection, hints)
            if not turn_ids:  # it was idle, and knows nothing of whoever watches now
                hints.clear()
                due_s = time.monotonic() + self._poll_s

    def _look(self, connection: BoundedConnection) -> None:
        turn_ids = self._turn_ids()
        if not turn_ids:
            return
        for turn_id, signal in connection.execute(SENT, [list(turn_ids)]):
            for heard in self._take(turn_id):
                with suppress(Exception):  # one that fails must not keep the others from hearing
                    heard(Signal(signal))

    def _turn_ids(self) -> set[str]:
        with self._lock:
            return {turn_id for turn_id, _ in self._watches.values()}

    def _take(self, turn_id: str) -> list[Heard]:
        with self._lock:
            mine = [ticket for ticket, (of, _) in self._watches.items() if of == turn_id]
            return [self._watches.pop(ticket)[1] for ticket in mine]

    @contextmanager
    def _connected(self) -> Iterator[BoundedConnection]:
        """A connection of its own that is notified, where the database can do that."""
        with store_errors():
            pooled = self._engine.raw_connection()
            connection = pooled.driver_connection
            assert isinstance(connection, BoundedConnection)
            pooled.detach()
            try:
                with suppress(psycopg.NotSupportedError, psycopg.ProgrammingError):
                    connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                yield connection
            finally:
                pooled.close()


def _read_hints(connection: BoundedConnection, hints: set[str]) -> None:
    connection.pgconn.consume_input()
    while notice := connection.pgconn.notifies():
        hints.add(notice.extra.decode())
