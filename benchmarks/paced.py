"""Turns on many threads that begin one by one, and a window in which they are counted.

A turn is 50 tokens, 20 ms apart, so an ideal one takes the 49 pauses and nothing else. The threads
begin one by one over the length of such a turn, as people do not begin together. The window opens
when the last has begun, and is as long as five ideal turns; what ends within it counts, and the
threads go on until it is over. Ideal is that nothing is late: each thread then ends five in it.

Where the CPU that all threads' turns take is more than an ideal turn's length, that is what they
begin over, and the window is five times as long: in a shorter one no turn may end at all.

Peers run this in their own environments, so it needs nothing but Python's own library.
"""

import json
import resource
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

TOKENS, GAP_S = 50, 0.02
IDEAL_S = (TOKENS - 1) * GAP_S
LONGEST_S = 20.0  # that threads begin over, however much they take
TURNS = 5  # a thread, within the window
LOOK_S = 0.1
WARM_UP_S = 15.0
WITH_PAUSES = 2.0  # times the CPU of tokens that come at once: about what it takes them one by one

Turn = Callable[[], object]


def told(url: str, path: str) -> Any:
    """What the timed wall at the address says to a GET."""
    with urlopen(f"{url}{path}") as reply:
        return json.load(reply)


def measured(turn: Turn, threads: int, url: str, *, turns: int = TURNS) -> dict[str, float]:
    """Run the threads, and say how fast and how late they were and what they took.

    Memory is first looked at when the process has done as many turns as are to follow, since the
    memory store remembers 10,000: so what grows is what running threads and turns take.

    Args:
        url: Where the timed wall is.
        turns: How many a thread is to end within the window.
    """
    said = turn()
    first_kib = resident_kib()
    warmed_up, busy_s = _warm_up(turn, threads * (turns + 2), url)
    before_kib = resident_kib()
    told(url, "/late")
    cpu_s = time.process_time()
    begin_s = min(max(IDEAL_S, WITH_PAUSES * busy_s * threads), LONGEST_S)
    paced = Paced(turn, threads, says=said, begin_s=begin_s, turns=turns)
    most_kib = paced.wait()
    cpu_s = time.process_time() - cpu_s
    wall = told(url, "/late")
    return {
        **paced.figures(),
        "cpu_ms_a_turn": cpu_s / paced.turns * 1e3,
        "grown_kib_a_thread": (most_kib - before_kib) / threads,
        "kept_kib_a_turn": (before_kib - first_kib) / warmed_up,
        "most_mb": most_kib / 1024,
        "wall_p99_ms": wall["p99_ms"],
    }


class Paced:
    """Threads that begin one by one, and what they ended within the window.

    Args:
        says: What each turn is to return.
        begin_s: What the threads begin over.
        turns: How many times as long the window is.

    Attributes:
        turns: How many ended, those outside of the window with them.
    """

    def __init__(
        self,
        turn: Turn,
        threads: int,
        *,
        says: object,
        begin_s: float = IDEAL_S,
        turns: int = TURNS,
    ) -> None:
        self._turn = turn
        self._says = says
        self._other: list[object] = []
        began_s = time.perf_counter() + LOOK_S
        self._window_s = turns * begin_s
        self._from_s = began_s + begin_s
        self._until_s = self._from_s + self._window_s
        self._ended: list[tuple[float, float]] = []  # how long one took, and when it ended
        self._threads = [
            threading.Thread(target=self._run, args=(began_s + begin_s * number / threads,))
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> float:
        """Wait for all threads; the most KiB that the process held meanwhile.

        Raises:
            RuntimeError: A turn failed, or said something else than it was to say.
        """
        most_kib = 0.0
        for thread in self._threads:
            while thread.is_alive():
                thread.join(LOOK_S)
                most_kib = max(most_kib, resident_kib())
        if self._other:
            raise RuntimeError(f"{len(self._other)} turns failed; one said {self._other[0]!r}")
        return most_kib

    @property
    def turns(self) -> int:
        return len(self._ended)

    def figures(self) -> dict[str, float]:
        """Speed and lateness of what ended within the window."""
        return figures(self.taken(), len(self._threads), self._window_s)

    def taken(self) -> list[float]:
        """How long each turn took that ended within the window."""
        return [taken_s for taken_s, at_s in self._ended if self._from_s < at_s <= self._until_s]

    def _run(self, at_s: float) -> None:
        time.sleep(max(0.0, at_s - time.perf_counter()))
        while (began_s := time.perf_counter()) < self._until_s:
            said = self._said()
            at_s = time.perf_counter()
            self._ended.append((at_s - began_s, at_s))
            if said != self._says:
                self._other.append(said)

    def _said(self) -> object:
        try:
            return self._turn()
        except Exception as error:  # noqa: BLE001 - whatever a library raises is no answer
            return error


def figures(
    taken: list[float], threads: int, window_s: float = TURNS * IDEAL_S
) -> dict[str, float]:
    """What so many threads came to in a window."""
    added = sorted(one - IDEAL_S for one in taken)
    turns_per_s = len(added) / window_s
    return {
        "turns_per_s": turns_per_s,
        "of_ideal": turns_per_s * IDEAL_S / threads,
        "added_p50_ms": statistics.median(added) * 1e3,
        "added_p99_ms": added[int(0.99 * (len(added) - 1))] * 1e3,
    }


def resident_kib() -> float:
    """What this process holds now; its peak would be that of deriving the master secret."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def _warm_up(turn: Turn, turns: int, url: str) -> tuple[int, float]:
    """Turns whose tokens come without pauses: how many there was time for, the CPU s of one."""
    told(url, "/gap/0")
    until_s, cpu_s, done = time.monotonic() + WARM_UP_S, time.process_time(), 0
    while done < turns and time.monotonic() < until_s:
        turn()
        done += 1
    told(url, f"/gap/{GAP_S}")
    return done, (time.process_time() - cpu_s) / done
