"""Gives the store what was kept on this machine while it was away."""

import logging
from collections.abc import Iterable
from threading import Lock

from turnkeeper.application.ports.ledger import IntentState, Ledger
from turnkeeper.application.ports.orphans import Left, Orphans
from turnkeeper.application.ports.spool import Kept, LateIntent, Spool
from turnkeeper.application.ports.turn_store import Closing, TurnStore
from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.domain.redact import redact

log = logging.getLogger("turnkeeper")


class FeedSpool:
    """Feeds what this process kept, and what dead processes of this machine left behind."""

    def __init__(self, *, spool: Spool, orphans: Orphans, ledger: Ledger, turns: TurnStore) -> None:
        self._spool = spool
        self._orphans = orphans
        self._ledger = ledger
        self._turns = turns
        self._feeding = Lock()  # so that nothing is taken for written that came meanwhile

    def __call__(self) -> None:
        """Feed all there is; the same record may come twice, and is then taken once.

        Raises:
            StoreError: The store is away still, or the spool cannot be read; nothing is lost.
        """
        with self._feeding:
            late = self._spool.late()
            if late:
                self._feed_intents(late)
                self._spool.were_written(len(late))
        for left_behind in self._spool.left_behind():
            with left_behind as left:
                self._feed_intents([one for one in left.kept if isinstance(one, LateIntent)])
                self._feed_ends(left.kept)

    def flush(self) -> str | None:
        """Feed, as a heartbeat does; returns why it has to wait, or None."""
        try:
            self()
        except StoreError as error:
            return str(error)
        return None

    def _feed_intents(self, late: Iterable[LateIntent]) -> None:
        self._orphans.remember(tuple(_left(one) for one in late))
        for one in late:
            self._ledger.settle(one.intent.turn_id, one.fates)

    def _feed_ends(self, kept: Iterable[Kept]) -> None:
        for closing in kept:
            if not isinstance(closing, Closing):
                continue
            try:
                self._turns.close(closing)
            except StoreUnavailable:
                raise
            except StoreError as error:  # it would be refused again, and hold up all others
                log.warning("the end of turn %s: %s", closing.turn_id, redact(str(error)))


def _left(late: LateIntent) -> Left:
    return Left(
        intent=late.intent,
        state=IntentState.INTENDED,
        message_id=None,
        written_at=late.written_at,
    )
