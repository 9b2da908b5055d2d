"""What is written when a turn is over: its quota unit, bookings, messages, journal and result."""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.spool import NoSpool, Spool
from turnkeeper.application.ports.turn_store import Closing, TurnStore
from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.domain.events import Entry
from turnkeeper.domain.turn import TurnResult

MAX_WAITING = 10_000


class SettleTurn:
    """Closes turns in the store; what cannot be written now is written later.

    Safe to use from several threads: a deque's ends are.

    Args:
        keep_text: Whether results are kept with what people, models and tools wrote.
    """

    def __init__(
        self,
        *,
        turns: TurnStore,
        journal: Journal,
        spool: Spool = NoSpool(),
        keep_text: bool = False,
    ) -> None:
        self._turns = turns
        self._journal = journal
        self._spool = spool
        self._keep_text = keep_text
        self._waiting: deque[Closing] = deque(maxlen=MAX_WAITING)
        self._late: deque[Sequence[Entry]] = deque(maxlen=MAX_WAITING)  # of a turn each

    def __call__(self, closing: Closing) -> str | None:
        """Write a turn's end, with a result as `kept` gave it.

        Returns:
            Why it has to wait, or None.
        """
        self._waiting.append(closing)
        cause = self.flush()
        if cause is not None and any(one is closing for one in tuple(self._waiting)):
            self._keep_on_this_machine(closing)
        return cause

    def kept(self, result: TurnResult) -> TurnResult:
        """What is kept of a result."""
        return result if self._keep_text else result.without_texts()

    @property
    def is_waiting(self) -> bool:
        """Whether the end of a turn is still to be written."""
        return bool(self._waiting)

    def later(self, entries: Sequence[Entry]) -> None:
        """Keep entries that came after their turn was closed for the next write."""
        self._late.append(entries)

    def flush(self) -> str | None:
        """Write what waits, oldest first; returns why it has to go on waiting, or None."""
        while self._waiting:
            try:
                closing = self._waiting.popleft()
            except IndexError:  # another thread wrote the last one
                return None
            try:
                self._turns.close(closing)
            except StoreUnavailable as error:
                self._waiting.appendleft(closing)
                return str(error)
            except StoreError as error:  # it would be refused again, and hold up all others
                return str(error)
            self._was_written(closing)
        return None

    def _keep_on_this_machine(self, closing: Closing) -> None:
        """So that it is booked even if this process dies before the store is back."""
        with suppress(StoreError):  # it waits in memory all the same
            self._spool.keep_end(closing)

    def _was_written(self, closing: Closing) -> None:
        try:
            self._spool.end_was_written(closing.turn_id)
        except StoreError:
            return  # then it is written twice, which changes nothing

    def flush_late(self) -> str | None:
        """Write the entries that came late; returns why they have to wait, or None."""
        late = self._taken_late()
        if not late:
            return None
        try:
            self._journal.record(tuple(chain.from_iterable(late)))
        except StoreError as error:
            self._late.extend(late)
            return str(error)
        return None

    def _taken_late(self) -> list[Sequence[Entry]]:
        late: list[Sequence[Entry]] = []
        with suppress(IndexError):  # the end, or another thread took the last one
            while True:
                late.append(self._late.popleft())
        return late
