"""The turns that run in this process: how many at once, how to reach them, how they all end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import AlreadyRunning, Busy, Closed
from turnkeeper.domain.events import Entry, TurnStarted


@dataclass(slots=True, kw_only=True, eq=False)
class RunningTurn:
    """One turn under way.

    Attributes:
        turn_id: Its id.
        place: Server and channel in which it speaks.
        mailbox: Where signals reach it.
        is_opened: Whether the store knows the turn.
    """

    turn_id: str
    place: tuple[str, str]
    mailbox: Mailbox = field(default_factory=Mailbox)
    is_opened: bool = False

    def listen(self, entry: Entry) -> None:
        """Hear from the turn's journal that it was opened."""
        if type(entry.event) is TurnStarted:
            self.is_opened = True


class RunningTurns:
    """Lets so many turns run at once; further ones wait, first come, first served.

    Safe to use from several threads.
    """

    def __init__(self, *, max_turns: int, queue_s: float) -> None:
        self._max_turns = max_turns
        self._queue_s = queue_s
        self._changed = Condition()  # guards the four below
        self._running: dict[str, RunningTurn] = {}
        self._queue: dict[str, RunningTurn] = {}
        self._is_closed = False
        self._drains = 0  # how many wait for the last to leave

    @contextmanager
    def entered(self, turn_id: str, place: tuple[str, str]) -> Iterator[RunningTurn]:
        """Let a turn run as long as the `with` does, once there is room for it.

        Raises:
            Busy: There was no room in time.
            Closed: No new turns are taken.
            AlreadyRunning: A turn of that id runs or waits here.
        """
        turn = RunningTurn(turn_id=turn_id, place=place)
        self._enter(turn)
        try:
            yield turn
        finally:
            self._leave(turn_id)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the turns that run, oldest first."""
        with self._changed:
            return tuple(self._running)

    @property
    def opened(self) -> tuple[str, ...]:
        """Those of them that the store knows; one that waits for its channel is not opened yet."""
        with self._changed:
            return tuple(turn.turn_id for turn in self._running.values() if turn.is_opened)

    def within(self, place: tuple[str, str]) -> tuple[str, ...]:
        """The ids of the turns that speak there, or wait to, oldest first."""
        with self._changed:
            turns = (*self._running.values(), *self._queue.values())
            return tuple(turn.turn_id for turn in turns if turn.place == place)

    def signal(self, turn_id: str, signal: Signal) -> bool:
        """Signal a turn that runs, or waits to; False if it is not here."""
        with self._changed:
            turn = self._running.get(turn_id) or self._queue.get(turn_id)
        if turn is not None:
            turn.mailbox.put(signal)
        return turn is not None

    def close(self) -> None:
        """Take no new turns, and none of those that wait."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def drained(self, timeout_s: float) -> bool:
        """Wait until no turn runs; False if some still do by then."""
        with self._changed:
            self._drains += 1
            try:
                return self._changed.wait_for(lambda: not self._running, max(0.0, timeout_s))
            finally:
                self._drains -= 1

    def _enter(self, turn: RunningTurn) -> None:
        with self._changed:
            self._check_open()
            if turn.turn_id in self._running or turn.turn_id in self._queue:
                raise AlreadyRunning(f"turn {turn.turn_id} is running here already")
            if not self._queue and len(self._running) < self._max_turns:
                self._running[turn.turn_id] = turn
                return
            self._queue[turn.turn_id] = turn
            try:
                self._wait_for_room(turn.turn_id)
            finally:
                del self._queue[turn.turn_id]
                self._changed.notify_all()
            self._running[turn.turn_id] = turn

    def _wait_for_room(self, turn_id: str) -> None:
        def may_go_on() -> bool:
            is_next = next(iter(self._queue)) == turn_id and len(self._running) < self._max_turns
            return self._is_closed or is_next

        if not self._changed.wait_for(may_go_on, self._queue_s):
            raise Busy(
                f"{self._max_turns} turns are running and none ended within {self._queue_s:g} s;"
                " try again later, or raise TURNKEEPER_MAX_TURNS"
            )
        self._check_open()

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed("the turnkeeper was closed and takes no new turns")

    def _leave(self, turn_id: str) -> None:
        with self._changed:
            del self._running[turn_id]
            if self._queue or self._drains:
                self._changed.notify_all()
