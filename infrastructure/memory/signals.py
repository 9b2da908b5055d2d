"""Signals within one process."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from turnkeeper.application.ports.signals import Signals
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.register import Register, place_of
from turnkeeper.infrastructure.signal_order import outranks

Heard = Callable[[Signal], None]


class MemorySignals(Signals):
    """Calls who watches in the thread that sends, or, for what was sent before, that watches."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._watches: dict[object, tuple[str, Heard]] = {}

    def send(self, turn_id: str, signal: Signal, *, sender: str = "system") -> bool:
        with self._register.lock:
            turn = self._register.get(turn_id)
            if turn is None or not self._register.is_alive(turn):
                return False
            if outranks(signal, turn.signal):
                turn.signal = signal
            heard = turn.signal
            watches = [(t, call) for t, (of, call) in self._watches.items() if of == turn_id]
        for ticket, call in watches:
            self._tell(ticket, call, heard)
        return True

    def pending(self, turn_id: str) -> Signal | None:
        with self._register.lock:
            turn = self._register.get(turn_id)
            return turn.signal if turn else None

    def watch(self, turn_id: str, heard: Heard) -> Callable[[], None]:
        ticket = object()
        with self._register.lock:
            self._watches[ticket] = turn_id, heard
            turn = self._register.get(turn_id)
            signal = turn.signal if turn is not None else None
        if signal is not None:
            self._tell(ticket, heard, signal)
        return partial(self._forget, ticket)

    def running_in(self, server_id: str, channel_id: str) -> tuple[str, ...]:
        place = place_of(Owner.server(server_id), channel_id)
        with self._register.lock:
            turns = self._register.in_channel(place)
            return tuple(t.turn_id for t in turns if self._register.is_alive(t))

    def _tell(self, ticket: object, heard: Heard, signal: Signal | None) -> None:
        if signal is not None and self._watches.pop(ticket, None) is not None:
            with suppress(Exception):  # one that fails must not keep the others from hearing
                heard(signal)

    def _forget(self, ticket: object) -> None:
        self._watches.pop(ticket, None)
