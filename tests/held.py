"""What a process holds of the machine."""

import threading
import time
from dataclasses import dataclass

import psutil

PATIENCE_S = 20.0  # only ever waited out by a test that fails


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds of the machine."""

    threads: int
    sockets: int
    descriptors: int

    @classmethod
    def now(cls) -> "Held":
        process = psutil.Process()
        return cls(
            threads=threading.active_count(),
            sockets=len(process.net_connections()),
            descriptors=process.num_fds(),
        )


def comes_back(baseline: Held) -> Held:
    """What is held once it is no more than before; or what is, when patience is over."""
    until_s = time.monotonic() + PATIENCE_S
    while (held := Held.now()) != baseline and time.monotonic() < until_s:
        threading.Event().wait(0.05)
    return held
