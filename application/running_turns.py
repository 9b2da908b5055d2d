"""The turns that run in this process: how many at once, how to reach them, how they all end."""

from threading import Condition, RLock

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.recorder import Recorder
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import AlreadyRunning, Busy, Closed
from turnkeeper.domain.events import TurnStarted

CLOSED = "the turnkeeper was closed and takes no new turns"


class RunningTurn:
    """One turn under way, once it is entered and until it is left.

    Attributes:
        turn_id: Its id.
        place: Server and channel in which it speaks.
        mailbox: Where signals reach it.
        recorder: What notes its events; None before it can have any.
    """

    __slots__ = ("_turns", "mailbox", "place", "recorder", "turn_id")

    def __init__(self, turn_id: str, place: tuple[str, str], turns: "RunningTurns") -> None:
        self.turn_id = turn_id
        self.place = place
        self.mailbox = Mailbox()
        self.recorder: Recorder | None = None
        self._turns = turns

    @property
    def is_opened(self) -> bool:
        """Whether the store knows the turn: its journal says so."""
        return self.recorder is not None and self.recorder.has_noted(TurnStarted)

    def __enter__(self) -> "RunningTurn":
        self._turns.enter(self)
        return self

    def __exit__(self, *_error: object) -> None:
        self._turns.leave(self)


class RunningTurns:
    """Lets so many turns run at once; further ones wait, first come, first served.

    Safe to use from several threads.
    """

    def __init__(self, *, max_turns: int, queue_s: float) -> None:
        self._max_turns = max_turns
        self._queue_s = queue_s
        self._lock = RLock()  # guards the four below
        self._changed = Condition(self._lock)
        self._running: dict[str, RunningTurn] = {}
        self._queue: dict[str, RunningTurn] = {}
        self._is_closed = False
        self._drains = 0  # how many wait for the last to leave

    def entered(self, turn_id: str, place: tuple[str, str]) -> RunningTurn:
        """A turn that runs as long as its `with` does, once there is room for it.

        Raises, on entering:
            Busy: There was no room in time.
            Closed: No new turns are taken.
            AlreadyRunning: A turn of that id runs or waits here.
        """
        return RunningTurn(turn_id, place, self)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the turns that run, oldest first."""
        with self._lock:
            return tuple(self._running)

    @property
    def opened(self) -> tuple[str, ...]:
        """Those of them that the store knows; one that waits for its channel is not opened yet."""
        with self._lock:
            return tuple(turn.turn_id for turn in self._running.values() if turn.is_opened)

    def within(self, place: tuple[str, str]) -> tuple[str, ...]:
        """The ids of the turns that speak there, or wait to, oldest first."""
        with self._lock:
            turns = (*self._running.values(), *self._queue.values())
            return tuple(turn.turn_id for turn in turns if turn.place == place)

    def signal(self, turn_id: str, signal: Signal) -> bool:
        """Signal a turn that runs, or waits to; False if it is not here."""
        with self._lock:
            turn = self._running.get(turn_id) or self._queue.get(turn_id)
        if turn is not None:
            turn.mailbox.put(signal)
        return turn is not None

    def close(self) -> None:
        """Take no new turns, and none of those that wait."""
        with self._lock:
            self._is_closed = True
            self._changed.notify_all()

    def drained(self, timeout_s: float) -> bool:
        """Wait until no turn runs; False if some still do by then."""
        with self._lock:
            self._drains += 1
            try:
                return self._changed.wait_for(lambda: not self._running, max(0.0, timeout_s))
            finally:
                self._drains -= 1

    def enter(self, turn: RunningTurn) -> None:
        """Let a turn run, once there is room for it; raises as `entered` says."""
        turn_id = turn.turn_id
        with self._lock:
            if self._is_closed:
                raise Closed(CLOSED)
            if turn_id in self._running or turn_id in self._queue:
                raise AlreadyRunning(f"turn {turn_id} is running here already")
            if self._queue or len(self._running) >= self._max_turns:
                self._queue_up(turn)
            self._running[turn_id] = turn

    def leave(self, turn: RunningTurn) -> None:
        """A turn is over."""
        with self._lock:
            del self._running[turn.turn_id]
            if self._queue or self._drains:
                self._changed.notify_all()

    def _queue_up(self, turn: RunningTurn) -> None:
        self._queue[turn.turn_id] = turn
        try:
            self._wait_for_room(turn.turn_id)
        finally:
            del self._queue[turn.turn_id]
            self._changed.notify_all()

    def _wait_for_room(self, turn_id: str) -> None:
        def may_go_on() -> bool:
            is_next = next(iter(self._queue)) == turn_id and len(self._running) < self._max_turns
            return self._is_closed or is_next

        if not self._changed.wait_for(may_go_on, self._queue_s):
            raise Busy(
                f"{self._max_turns} turns are running and none ended within {self._queue_s:g} s;"
                " try again later, or raise TURNKEEPER_MAX_TURNS"
            )
        if self._is_closed:
            raise Closed(CLOSED)
