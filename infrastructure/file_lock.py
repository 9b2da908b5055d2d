"""A lock of the operating system on a file: it ends with its process, however that ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

POLL_S = 0.02


class Hold(Enum):
    """How a lock is held: together with others, or alone."""

    SHARED = fcntl.LOCK_SH
    ALONE = fcntl.LOCK_EX


class FileLock:
    """One holder's lock on one file; not to be used by several threads at once.

    Raises:
        OSError: The file cannot be opened or made.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, hold: Hold, *, timeout_s: float) -> bool:
        """Return whether the lock was to be had within the time."""
        deadline_s = time.monotonic() + timeout_s
        while not self._taken(hold):
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(POLL_S)
        return True

    def _taken(self, hold: Hold) -> bool:
        try:
            fcntl.flock(self._descriptor, hold.value | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def give_back(self) -> None:
        """End the lock for good."""
        # Closing alone would not end it where a forked child has inherited the descriptor.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)


@contextmanager
def held_alone(path: Path, *, timeout_s: float) -> Iterator[None]:
    """Hold the lock on this file alone.

    Raises:
        TimeoutError: Others held it all the time.
    """
    lock = FileLock(path)
    try:
        if not lock.take(Hold.ALONE, timeout_s=timeout_s):
            raise TimeoutError(f"{path} was locked by another process for {timeout_s:g} s")
        yield
    finally:
        lock.give_back()
