"""The state of running turns, in memory."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache

from turnkeeper.application.ports.key_ring import KeyRing
from turnkeeper.application.ports.ledger import Ledger
from turnkeeper.application.ports.standings import Standings
from turnkeeper.application.ports.turn_store import (
    AlreadyEnded,
    Closing,
    Opened,
    Opening,
    TurnStore,
)
from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    Granted,
    RefusalKind,
    Refused,
)
from turnkeeper.domain.errors import AlreadyRunning
from turnkeeper.domain.frozen import maker, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.standing import Standing
from turnkeeper.infrastructure.memory.admissions import UNLIMITED, Admissions
from turnkeeper.infrastructure.memory.register import Place, Register, Turn, place_of

_new_opened = maker(Opened)

_NO_RESTS: frozenset[RestScope] = frozenset()


class MemoryTurnStore(TurnStore, Standings):
    """The turns of one process, for tests and staging.

    Args:
        register: The turns, shared with the ledger and the signals.
        ledger: Where the fates and entries of a closing go.
        keys: Where its bookings go.
        version_of: The version of an owner's settings; 0 where nothing is set.
    """

    def __init__(
        self,
        register: Register,
        *,
        ledger: Ledger,
        keys: KeyRing,
        version_of: Callable[[Owner], int] = lambda _owner: 0,
    ) -> None:
        self._register = register
        self._ledger = ledger
        self._keys = keys
        self._version_of = version_of
        self._admissions = Admissions()
        self._unreachable: dict[Place, datetime] = {}
        self._rests: dict[RestScope, datetime] = {}

    def open(self, opening: Opening) -> Opened | AlreadyEnded:
        register, place = self._register, place_of(opening.server, opening.channel_id)
        owners = opening.owners
        with register.lock:
            now = register.clock.now()
            same, rivals = register.same_as(opening), register.in_channel(place)
            dead = self._give_up_dead(opening, same, rivals, now) if same or rivals else []
            if dead:  # one of them may have had the key
                same = register.same_as(opening)
            if same is not None:
                if same.result is not None:
                    return AlreadyEnded(result=same.result)
                if same.given_up or same.turn_id != opening.turn_id:
                    raise _running_as(same, opening)
            admission = self._admission(opening, rivals, dead, place, now)
            epoch = _epoch(same, dead)
            if isinstance(admission, Granted):
                self._enter(opening, same, epoch, place, now)
            elif same is not None:
                register.remove(opening.turn_id)
            return _new_opened(
                admission=admission,
                versions=tuple(zip(owners, map(self._version_of, owners), strict=True)),
                resting=self._resting(owners, now) if self._rests else _NO_RESTS,
                epoch=epoch,
            )

    def admit(self, check: AdmissionCheck) -> Admission:
        with self._register.lock:
            return self._admissions.ask(check, self._now())

    def close(self, closing: Closing) -> None:
        register, turn_id = self._register, closing.turn_id
        with register.lock:
            turn = register.get(turn_id)
            if turn is None:
                if closing.result.refusal is not None:
                    register.add(_refused(closing, self._now()))
            elif turn.result is not None:
                return
            elif turn.epoch == closing.epoch:
                register.end(turn, closing.result)
            self._admissions.settle(closing.settle, turn_id=turn_id)
        self._ledger.settle(turn_id, closing.fates, entries=closing.entries)
        for booked in closing.bookings:
            self._keys.book(booked.lease, booked.booking, keeps_lease=booked.keeps_lease)

    def rest(self, scope: RestScope, *, for_s: float) -> None:
        with self._register.lock:
            self._rests[scope] = _later(self._rests.get(scope), self._in(for_s))

    def extend(self, turn_ids: tuple[str, ...], *, alive_s: float) -> frozenset[str]:
        with self._register.lock:
            turns = {turn_id: self._register.get(turn_id) for turn_id in turn_ids}
            for turn in turns.values():
                if turn is not None and turn.is_running:
                    turn.alive_until = self._in(alive_s)
            return frozenset(i for i, turn in turns.items() if turn is None or turn.given_up)

    def mark_unreachable(self, server: Owner, channel_id: str, *, for_s: float) -> None:
        place = place_of(server, channel_id)
        with self._register.lock:
            self._unreachable[place] = _later(self._unreachable.get(place), self._in(for_s))

    def look(self, opening: Opening) -> Standing:
        with self._register.lock:
            now, place = self._now(), place_of(opening.server, opening.channel_id)
            rivals = self._register.in_channel(place) if opening.serialize else ()
            found = self._admissions.look(opening.admission, now)
            return replace(
                found,
                away_until=_if_later(self._unreachable.get(place, now), now),
                busy_until=_if_later(_held_until(rivals, opening, now), now),
                resting=tuple(
                    sorted(
                        (
                            (scope, until)
                            for scope, until in self._rests.items()
                            if scope.owner in opening.owners and until > now
                        ),
                        key=lambda rest: (str(rest[0].owner), rest[0].place, rest[0].model),
                    )
                ),
            )

    def now(self) -> datetime:
        return self._now()

    def let_go(self, turn: Turn) -> None:
        """Free the unit of a turn that was swept."""
        with self._register.lock:
            self._admissions.let_go(turn.turn_id)

    def prune(self, before: datetime, limit: int) -> tuple[int, int]:
        """Forget old units and refusals; returns how many of each."""
        with self._register.lock:
            return self._admissions.prune(before, limit)

    def count_of(self, user_id: str) -> int:
        """How many cooldowns, quota counts and rests there are of a user."""
        with self._register.lock:
            return self._admissions.count_of(user_id) + len(self._rests_of(user_id))

    def forget_of(self, user_id: str) -> int:
        """Forget a user's cooldowns, quota counts and rests; returns how many."""
        with self._register.lock:
            rests = self._rests_of(user_id)
            for scope in rests:
                del self._rests[scope]
            return self._admissions.forget_of(user_id) + len(rests)

    def _rests_of(self, user_id: str) -> list[RestScope]:
        return [scope for scope in self._rests if scope.owner == Owner.user(user_id)]

    # ── opening ─────────────────────────────────────────────────────────────────────────────

    def _give_up_dead(
        self, opening: Opening, same: Turn | None, rivals: tuple[Turn, ...], now: datetime
    ) -> list[Turn]:
        if same is not None and same not in rivals:
            rivals = (*rivals, same)
        dead = [
            turn
            for turn in rivals
            if turn.is_running and turn.alive_until <= now and turn.turn_id != opening.turn_id
        ]
        for turn in dead:
            self._register.give_up(turn)
        return dead

    def _admission(
        self,
        opening: Opening,
        rivals: tuple[Turn, ...],
        dead: list[Turn],
        place: Place,
        now: datetime,
    ) -> Admission:
        away_until = self._unreachable.get(place)
        if away_until is not None and away_until > now:
            return Refused(kind=RefusalKind.UNREACHABLE, until=away_until)
        if rivals and opening.serialize:
            busy_until = _held_until(rivals, opening, now)
            if busy_until > now:
                return Refused(kind=RefusalKind.CHANNEL_BUSY, until=busy_until)
        if opening.admission is None:
            return UNLIMITED
        gone = [turn.turn_id for turn in dead]
        return self._admissions.ask(opening.admission, now, instead_of=gone)

    def _enter(
        self, opening: Opening, same: Turn | None, epoch: int, place: Place, now: datetime
    ) -> None:
        alive_until = now + _seconds(opening.alive_s)
        if same is not None:
            same.alive_until = alive_until
            return
        turn = Turn(
            opening.turn_id,
            opening.turn_key,
            opening.server,
            opening.channel_id,
            opening.user_id,
            opening.serialize,
            epoch,
            alive_until,
            now,
        )
        self._register.begin(turn, place)

    def _resting(self, owners: tuple[Owner, ...], now: datetime) -> frozenset[RestScope]:
        rests = self._rests.items()
        return frozenset([scope for scope, until in rests if until > now and scope.owner in owners])

    # ── time ────────────────────────────────────────────────────────────────────────────────

    def _now(self) -> datetime:
        return self._register.clock.now()

    def _in(self, seconds: float) -> datetime:
        return self._now() + _seconds(seconds)


@lru_cache(maxsize=16)
def _seconds(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)  # slow to make, and always of the same few settings


def _held_until(rivals: tuple[Turn, ...], opening: Opening, now: datetime) -> datetime:
    """How long another turn that runs holds the channel; now if none does."""
    others = [turn for turn in rivals if turn.is_running and turn.turn_id != opening.turn_id]
    return max([turn.alive_until for turn in others if turn.holds_channel], default=now)


def _epoch(same: Turn | None, dead: list[Turn]) -> int:
    """That of a turn that goes on, or of what has moved on from the dead."""
    if same is not None:
        return same.epoch
    return max([turn.epoch for turn in dead]) if dead else 1


def _refused(closing: Closing, now: datetime) -> Turn:
    """A turn that never began, with its result."""
    return Turn(
        turn_id=closing.turn_id,
        turn_key="",
        server=closing.server,
        channel_id=closing.channel_id,
        user_id=closing.user_id,
        holds_channel=False,
        epoch=closing.epoch,
        alive_until=now,
        opened_at=now,
        result=closing.result,
        ended_at=now,
    )


def _if_later(until: datetime, now: datetime) -> datetime | None:
    return until if until > now else None


def _later(known: datetime | None, new: datetime) -> datetime:
    return new if known is None else max(known, new)


def _running_as(other: Turn, opening: Opening) -> AlreadyRunning:
    return AlreadyRunning(
        f"the turn {opening.turn_key or opening.turn_id} is being run as"
        f" {other.turn_id}; wait for its end, or until it no longer counts as alive"
    )
