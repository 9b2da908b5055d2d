"""The turns that died, in memory: those of this very process that gave no sign of life."""

from collections import Counter
from datetime import datetime, timedelta

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.ledger import IntentState
from turnkeeper.application.ports.orphans import (
    CLAIM_S,
    GRACE_S,
    LENT_S,
    Left,
    Orphan,
    Orphans,
    Swept,
)
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register, Turn
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore


class MemoryOrphans(Orphans):
    """Claims orphans under the register's lock.

    Args:
        register: The turns.
        ledger: Their intents.
        turns: Who holds channels and units.
        keys: Where keys go back to.
        journal: Where the entries go.
    """

    def __init__(
        self,
        register: Register,
        *,
        ledger: MemoryLedger,
        turns: MemoryTurnStore,
        keys: MemoryKeyRing,
        journal: Journal,
    ) -> None:
        self._register = register
        self._ledger = ledger
        self._turns = turns
        self._keys = keys
        self._journal = journal

    def are_due(self, *, grace_s: float = GRACE_S) -> bool:
        with self._register.lock:
            return bool(self._due(grace_s))

    def claim(
        self, by: str, *, limit: int, grace_s: float = GRACE_S, claim_s: float = CLAIM_S
    ) -> tuple[Orphan, ...]:
        with self._register.lock:
            now = self._register.clock.now()
            due = sorted(self._due(grace_s), key=lambda turn: turn.alive_until)
            return tuple(
                self._claimed(turn, now, timedelta(seconds=claim_s)) for turn in due[:limit]
            )

    def others(self, orphan: Orphan, since: datetime) -> tuple[Left, ...]:
        left = self._ledger.left(
            lambda intent, _: (
                intent.turn_id != orphan.turn_id
                and intent.server_id == orphan.server.id
                and intent.channel_id == orphan.channel_id
            )
        )
        return tuple(one for one in left if one.written_at >= since)

    def done(self, swept: Swept) -> bool:
        orphan = swept.orphan
        with self._register.lock:
            turn = self._register.get(orphan.turn_id)
            if turn is None or turn.sweeps != orphan.claim_no:
                return False
            turn.swept = turn.given_up
            now, again_in_s = self._register.clock.now(), swept.again_in_s
            turn.ended_at = turn.ended_at or now
            self._turns.let_go(turn)
            self._ledger.settle(orphan.turn_id, swept.fates)
            self._ledger.mark_absent(orphan.turn_id, swept.absent)
            turn.sweep_due = None if again_in_s is None else now + timedelta(seconds=again_in_s)
        for key in swept.idle_keys:
            self._keys.give_back(key.owner, key.key_id, orphan.opened_at)
        self._journal.record(swept.entries)
        return True

    def remember(self, left: tuple[Left, ...]) -> None:
        for one in left:
            self._ledger.remember(one)

    def free_keys(self) -> int:
        with self._register.lock:
            open_ = [one for one in self._register.all() if one.ended_at is None]
            holders = Counter(one.server for one in open_)
            holders.update(Owner.user(one.user_id) for one in open_ if one.user_id)
        return self._keys.bound(holders, LENT_S)

    def stuck(self) -> tuple[Left, ...]:
        return self._ledger.left(lambda _, state: state is IntentState.STUCK)

    def _due(self, grace_s: float) -> list[Turn]:
        now = self._register.clock.now()
        dead_since = now - timedelta(seconds=grace_s)
        return [turn for turn in self._register.all() if _is_due(turn, now, dead_since)]

    def _claimed(self, turn: Turn, now: datetime, claim: timedelta) -> Orphan:
        ended_itself = turn.result is not None and not turn.given_up
        if turn.is_running:
            self._register.give_up(turn)
        elif turn.given_up and not turn.swept:
            turn.epoch += 1
        turn.sweeps += 1
        turn.sweep_due = now + claim
        return Orphan(
            turn_id=turn.turn_id,
            server=turn.server,
            channel_id=turn.channel_id,
            user_id=turn.user_id,
            turn_key=turn.turn_key,
            claim_no=turn.sweeps,
            opened_at=turn.opened_at,
            alive_until=turn.alive_until,
            now=now,
            ended_itself=ended_itself,
            swept_before=turn.swept,
            successor=None if ended_itself else self._register.of_key(turn.server, turn.turn_key),
            left=self._ledger.left(lambda intent, _: intent.turn_id == turn.turn_id),
        )


def _is_due(turn: Turn, now: datetime, dead_since: datetime) -> bool:
    is_over = turn.swept or (turn.result is not None and not turn.given_up)
    if turn.sweep_due is not None and turn.sweep_due > now:
        return False
    if is_over:
        return turn.sweep_due is not None
    return turn.given_up or turn.alive_until <= dead_since
