"""The processes of a soak, and what they have said so far."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from chaos.worker import Orders
from sweepers import environment

JOIN_S = 120.0
BUSY_S = 20.0
"""How long a process that is to be killed may have nothing to do."""


@dataclass(slots=True)
class Log:
    """What all processes have said.

    Attributes:
        ended: What the turns came to, by their ids.
        by_survivor: Ids of those whose process lives on.
        under_way: The numbers and ids of the turns that run, by process.
        lost: Ids of turns whose process was killed.
        weights: Pairs of turns run and bytes held, by process, for as long as it lives.
        findings: What was wrong.
        statuses: How often a turn came to what.
        count: How many turns have ended, each with a journal of its own.
        goodbyes: How many processes have ended by themselves.
    """

    ended: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_survivor: set[str] = field(default_factory=set)
    under_way: dict[int, dict[int, str]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    weights: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    count: int = 0
    goodbyes: int = 0


class Crew:
    """Worker processes that get the numbers of turns one after the other.

    Args:
        first: The first turn's number.
        turns: How many turns are to end.
    """

    def __init__(self, orders: Orders, *, processes: int, first: int, turns: int) -> None:
        self._orders = orders
        self._next = first
        self._turns = turns
        self.log = Log()
        self._changed = Condition()  # guards all here
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._readers: list[Thread] = []
        for index in range(processes):
            self._start(index)

    @property
    def count(self) -> int:
        """How many turns have ended; one that came again while it ran, or later, is not counted."""
        with self._changed:
            return self.log.count

    def await_count(self, count: int, *, stalled_s: float) -> bool:
        """Wait until so many turns have ended; False if none ended for so long."""
        while (before := self.count) < min(count, self._turns):
            with self._changed:
                grew = self._changed.wait_for(lambda: self._grew(before), stalled_s)
            if not grew:
                return False
        return True

    def kill(self, index: int) -> int:
        """Kill a process in the middle of its turns, and put another in its place."""
        process = self._processes[index]
        with self._changed:
            self._changed.wait_for(lambda: self.log.under_way.get(index), BUSY_S)
        process.kill()
        process.wait(JOIN_S)
        with suppress(OSError):  # what was being written to it
            assert process.stdin is not None
            process.stdin.close()
        for reader in self._readers:
            if reader.name == f"reader-{process.pid}":
                reader.join(JOIN_S)
        with self._changed:
            lost = self.log.under_way.pop(index, {})
            self.log.lost |= set(lost.values())
            self.log.weights.pop(index, None)
            self.log.by_survivor = {
                turn for turn in self.log.by_survivor if self.log.ended[turn]["by"] != process.pid
            }
        self._start(index)
        return len(lost)

    def end(self) -> None:
        """Let all finish what they do."""
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes.values():
            try:
                process.wait(JOIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                self.log.findings.append(f"process {process.pid} did not end by itself")
        for reader in self._readers:
            reader.join(JOIN_S)

    def abort(self) -> None:
        """End all, whatever they do."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(JOIN_S)

    def _start(self, index: int) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "chaos.worker"],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._processes[index] = process
        assert process.stdin is not None
        process.stdin.write(self._orders.line() + "\n")
        process.stdin.flush()
        reader = Thread(
            target=self._read, args=(index, process), name=f"reader-{process.pid}", daemon=True
        )
        self._readers.append(reader)
        reader.start()

    def _read(self, index: int, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue  # it was killed in the middle of a line
                with self._changed:
                    self._hear(index, process, said)
                    self._changed.notify_all()

    def _hear(self, index: int, process: "subprocess.Popen[str]", said: dict[str, Any]) -> None:
        match said:
            case {"ready": True}:
                for _ in range(self._orders.threads):
                    self._give(process)
            case {"began": turn, "n": number}:
                self.log.under_way.setdefault(index, {})[number] = turn
            case {"bug": bug, "n": number}:
                self.log.findings.append(f"turn {number}: {bug}")
                self.log.under_way.get(index, {}).pop(number, None)
                self.log.statuses["bug"] += 1
                self.log.count += 1
                self._give(process)
            case {"status": status, "n": number, "turn": turn}:
                self.log.under_way.get(index, {}).pop(number, None)
                self.log.statuses[status] += 1
                self.log.count += said["ended"]
                self.log.ended[turn] = {**said, "by": process.pid}
                self.log.by_survivor.add(turn)
                self.log.findings += [f"turn {number}: {one}" for one in said["breaches"]]
                self._give(process)
            case {"rss": rss, "ran": ran}:
                self.log.weights.setdefault(index, []).append((ran, rss))
            case {"baseline": baseline, "held": held}:
                self.log.goodbyes += 1
                if baseline != held:
                    self.log.findings.append(f"process {process.pid} holds {held}, not {baseline}")

    def _give(self, process: "subprocess.Popen[str]") -> None:
        """The next number, as long as turns are missing."""
        given = self.log.count + sum(map(len, self.log.under_way.values()))
        assert process.stdin is not None
        if given < self._turns + self._orders.threads:
            try:
                process.stdin.write(f"{self._next}\n")
                process.stdin.flush()
            except (OSError, ValueError):
                return  # it has been killed, or is to end
            self._next += 1

    def _grew(self, before: int) -> bool:
        return self.log.count > before
