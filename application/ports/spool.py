"""What could not be written to the store, kept on this machine until it can."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from turnkeeper.application.ports.ledger import Fates, Intent
from turnkeeper.application.ports.turn_store import Closing
from turnkeeper.domain.frozen import frozen


@frozen
class LateIntent:
    """An intent that the store did not take, and what had become of earlier messages by then.

    Attributes:
        intent: What was to be posted, and was.
        written_at: When, by this machine's clock.
        fates: Without the messages' texts.
    """

    intent: Intent
    written_at: datetime
    fates: Fates


Kept = LateIntent | Closing


@frozen
class LeftBehind:
    """What a dead process of this machine has kept and did not live to write.

    Attributes:
        kept: In order of keeping; ends of turns that were written after all are left out.
        unreadable: How many records make no sense, the last one aside: it was cut off.
    """

    kept: tuple[Kept, ...]
    unreadable: int = 0


class Spool(Protocol):
    """Keeps records across the death of the process. Safe to use from several threads.

    Raises:
        StoreError: From every method: this machine cannot keep it either.
    """

    def keep_intent(self, intent: Intent, fates: Fates) -> None:
        """Keep an intent whose message goes out nevertheless; it is on disk when this returns."""
        ...

    def keep_end(self, closing: Closing) -> None:
        """Keep a turn's end, once; no secret is written."""
        ...

    def end_was_written(self, turn_id: str) -> None:
        """The store took the turn's end after all; nothing if none was kept."""
        ...

    def late(self) -> tuple[LateIntent, ...]:
        """The intents that this process has kept and that the store did not get yet."""
        ...

    def were_written(self, count: int) -> None:
        """The store got so many of `late`, the first ones."""
        ...

    def left_behind(self) -> Iterator[AbstractContextManager[LeftBehind]]:
        """What each dead process left; a `with` that ends well forgets it.

        While it is looked at no other process sees it.
        """
        ...


class NoSpool(Spool):
    """Keeps nothing: for a store that ends with its process."""

    def keep_intent(self, intent: Intent, fates: Fates) -> None:
        pass

    def keep_end(self, closing: Closing) -> None:
        pass

    def end_was_written(self, turn_id: str) -> None:
        pass

    def late(self) -> tuple[LateIntent, ...]:
        return ()

    def were_written(self, count: int) -> None:
        pass

    def left_behind(self) -> Iterator[AbstractContextManager[LeftBehind]]:
        return iter(())
