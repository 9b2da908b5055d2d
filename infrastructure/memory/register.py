"""The turns that the memory adapters of one process share."""

from dataclasses import dataclass
from datetime import datetime
from threading import RLock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.turn_store import Opening
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.latest import Latest

Place = tuple[OwnerKind, str, str]
"""A server and a channel."""


@dataclass(slots=True, eq=False)
class Turn:
    """What is known of one turn. It runs until it has a result or was given up.

    Of its opening only what is asked of a turn that is over: thousands of them are kept.

    `holds_channel` says that no other turn that does runs in its channel. `sweep_due` is until when
    a sweeper's claim holds, or when what is left is due.
    """

    turn_id: str
    turn_key: str
    server: Owner
    channel_id: str
    user_id: str | None
    holds_channel: bool
    epoch: int
    alive_until: datetime
    opened_at: datetime
    given_up: bool = False
    result: TurnResult | None = None
    signal: Signal | None = None
    swept: bool = False
    sweeps: int = 0
    sweep_due: datetime | None = None
    ended_at: datetime | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has neither ended nor been given up."""
        return self.result is None and not self.given_up


class Register:
    """All turns by id and by key.

    Attributes:
        clock: The one clock of the store.
        lock: Guards everything here, and what the adapters decide by it.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lock = RLock()
        self._turns: Latest[str, Turn] = Latest()
        self._keys: Latest[tuple[str, str], str] = Latest()
        # Those that run: looking at all turns took a millisecond.
        self._places: dict[Place, tuple[Turn, ...]] = {}

    def add(self, turn: Turn) -> None:
        """Enter a turn under its id and its key."""
        self._turns[turn.turn_id] = turn
        if turn.turn_key:
            self._keys[_key(turn)] = turn.turn_id

    def begin(self, turn: Turn, place: Place) -> None:
        """Enter a turn that runs in a channel from now on."""
        self.add(turn)
        before = self._places.get(place)
        self._places[place] = (turn,) if before is None else (*before, turn)

    def end(self, turn: Turn, result: TurnResult) -> None:
        """Give a turn its result."""
        turn.result, turn.ended_at = result, self.clock.now()
        self._leave(turn)

    def remove(self, turn_id: str) -> None:
        """Strike a turn out, as if it had never begun."""
        turn = self._turns.pop(turn_id)
        self._keys.pop(_key(turn), None)
        self._leave(turn)

    def get(self, turn_id: str) -> Turn | None:
        """The turn of that id."""
        return self._turns.get(turn_id)

    def all(self) -> tuple[Turn, ...]:
        """All turns that are remembered, oldest first."""
        return tuple(self._turns.values())

    def become_due(self, turn_id: str, *, has_stuck: bool) -> None:
        """Call a sweep: a message is stuck, or came after its turn was given up."""
        turn = self._turns.get(turn_id)
        if turn is not None and (has_stuck or turn.given_up) and turn.sweep_due is None:
            turn.sweep_due = self.clock.now()

    def of_key(self, server: Owner, turn_key: str) -> str | None:
        """The id of the turn that has the key now."""
        return self._keys.get((str(server), turn_key)) if turn_key else None

    def same_as(self, opening: Opening) -> Turn | None:
        """The turn of the same key, or of the same id."""
        turn_id = opening.turn_id
        if opening.turn_key:
            turn_id = self.of_key(opening.server, opening.turn_key) or turn_id
        return self._turns.get(turn_id)

    def is_current(self, turn_id: str, epoch: int) -> bool:
        """Whether the turn runs, and under this epoch: one that was given up has another."""
        turn = self._turns.get(turn_id)
        return turn is not None and turn.epoch == epoch and turn.result is None

    def is_alive(self, turn: Turn) -> bool:
        """Whether it runs and gave a sign of life in time."""
        return turn.is_running and turn.alive_until > self.clock.now()

    def give_up(self, turn: Turn) -> None:
        """Let what the turn still writes find another epoch, and its key be free."""
        turn.given_up = True
        turn.epoch += 1
        self._keys.pop(_key(turn), None)
        self._leave(turn)

    def in_channel(self, place: Place) -> tuple[Turn, ...]:
        """The turns that run in a channel, oldest first."""
        return self._places.get(place, ())

    def _leave(self, turn: Turn) -> None:
        place = place_of(turn.server, turn.channel_id)
        there = self._places.pop(place, ())
        if there and there != (turn,):  # most often its channel has no other
            others = [other for other in there if other is not turn]
            self._places[place] = tuple(others)


def place_of(server: Owner, channel_id: str) -> Place:
    """The place of a channel."""
    return server.kind, server.id, channel_id


def _key(turn: Turn) -> tuple[str, str]:
    return str(turn.server), turn.turn_key
