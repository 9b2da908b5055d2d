"""A file of this process's own, on disk with each record, that outlives it."""

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.ledger import Fates, Intent
from turnkeeper.application.ports.spool import Kept, LateIntent, LeftBehind, Spool
from turnkeeper.application.ports.turn_store import Closing
from turnkeeper.domain.errors import StoreError
from turnkeeper.infrastructure.data_folder import make_folder
from turnkeeper.infrastructure.file_lock import FileLock, Hold
from turnkeeper.infrastructure.spool_codec import (
    EndWritten,
    Record,
    line_of,
    record_of,
    without_texts,
)

MAX_BYTES = 16 * 1024 * 1024
SUFFIX = ".jsonl"
LOCK_S = 5.0

log = logging.getLogger("turnkeeper")


class FileSpool(Spool):
    """One file for each process, made when it is first needed and locked while its process lives.

    Args:
        folder: Shared by all processes of this machine that use one store.
        clock: When things are kept.
        max_bytes: The largest file.
    """

    def __init__(self, folder: Path, *, clock: Clock, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._clock = clock
        self._max_bytes = max_bytes
        self._lock = Lock()  # guards all below
        self._file: _OwnFile | None = None
        self._late: list[LateIntent] = []
        self._ends: set[str] = set()

    def keep_intent(self, intent: Intent, fates: Fates) -> None:
        late = LateIntent(intent=intent, written_at=self._clock.now(), fates=without_texts(fates))
        with self._lock:
            self._append(late)
            self._late.append(late)

    def keep_end(self, closing: Closing) -> None:
        with self._lock:
            if closing.turn_id in self._ends:
                return
            self._append(closing)
            self._ends.add(closing.turn_id)

    def end_was_written(self, turn_id: str) -> None:
        with self._lock:
            if turn_id in self._ends:
                self._ends.discard(turn_id)
                self._forget_or(EndWritten(turn_id=turn_id))

    def late(self) -> tuple[LateIntent, ...]:
        with self._lock:
            return tuple(self._late)

    def were_written(self, count: int) -> None:
        with self._lock:
            del self._late[:count]
            self._forget_or(None)

    def left_behind(self) -> Iterator[AbstractContextManager[LeftBehind]]:
        own = self._file.path if self._file else None
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            if path != own:
                yield from _of_the_dead(path)

    def close(self) -> None:
        """Leave to others what is still kept; a file in which there is nothing goes."""
        with self._lock, _spool_errors(self._folder):
            if self._file is not None:
                self._file.close(keep=bool(self._late or self._ends))
                self._file = None

    def _append(self, record: Record) -> None:
        with _spool_errors(self._folder):
            if self._file is None:
                self._file = _OwnFile(self._folder)
            line = line_of(record)
            if self._file.size + len(line) > self._max_bytes:
                raise StoreError(
                    f"{self._file.path} is full: {self._max_bytes} bytes wait for the store"
                )
            self._file.append(line)

    def _forget_or(self, record: Record | None) -> None:
        """Empty the file where nothing in it waits any more; else note what does not."""
        if self._file is None:
            return
        if self._late or self._ends:
            if record is not None:
                self._append(record)
            return
        with _spool_errors(self._folder):
            self._file.empty()


class _OwnFile:
    """A locked file that grows."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.path, self._lock = _locked_file(folder)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        _sync_folder(folder)
        self.size = 0

    def append(self, line: bytes) -> None:
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(f"only {written} of {len(line)} bytes were written")
            os.fsync(self._descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
            raise
        self.size += len(line)

    def empty(self) -> None:
        os.ftruncate(self._descriptor, 0)
        self.size = 0

    def close(self, *, keep: bool) -> None:
        os.close(self._descriptor)
        if not keep:
            self.path.unlink(missing_ok=True)
        self._lock.give_back()


def _locked_file(folder: Path) -> tuple[Path, FileLock]:
    """A new file; one that another process took for a dead one's at first is given up."""
    while True:
        path = folder / f"{os.getpid()}-{uuid4().hex[:8]}{SUFFIX}"
        lock = FileLock(path)
        if lock.take(Hold.ALONE, timeout_s=LOCK_S) and path.exists():
            return path, lock
        lock.give_back()


def _of_the_dead(path: Path) -> Iterator[AbstractContextManager[LeftBehind]]:
    """The file's records if its process is dead and nobody else looks at it."""
    with _spool_errors(path):
        lock = FileLock(path)
    try:
        if lock.take(Hold.ALONE, timeout_s=0.0):
            yield _looked_at(path)
    finally:
        lock.give_back()


@contextmanager
def _looked_at(path: Path) -> Iterator[LeftBehind]:
    with _spool_errors(path):
        lines = path.read_bytes().splitlines() if path.exists() else []
    yield _left_behind(path, lines)
    with _spool_errors(path):
        path.unlink(missing_ok=True)


def _left_behind(path: Path, lines: list[bytes]) -> LeftBehind:
    kept: list[Kept] = []
    written: set[str] = set()
    unreadable = 0
    for number, line in enumerate(lines, 1):
        try:
            record = record_of(line)
        except ValueError as error:
            if number < len(lines):  # the last one was being written as its process died
                unreadable += 1
                log.warning("%s, line %d is left out: %s", path, number, error)
            continue
        if isinstance(record, EndWritten):
            written.add(record.turn_id)
        else:
            kept.append(record)
    rest = [one for one in kept if not (isinstance(one, Closing) and one.turn_id in written)]
    return LeftBehind(kept=tuple(rest), unreadable=unreadable)


def _sync_folder(folder: Path) -> None:
    """So that the new file's name is on disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _spool_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"nothing can be kept in {path}: {error}; set TURNKEEPER_DATA_DIR to a folder that can"
        ) from error
