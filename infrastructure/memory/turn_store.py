"""The state of running turns, in memory."""

from collections.abc import Callable
from datetime import datetime, timedelta

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
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.standing import Standing
from turnkeeper.infrastructure.memory.admissions import Admissions
from turnkeeper.infrastructure.memory.register import Register, Turn

Place = tuple[str, str]


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
        self._leases: dict[Place, tuple[str, datetime]] = {}
        self._unreachable: dict[Place, datetime] = {}
        self._rests: dict[RestScope, datetime] = {}

    def open(self, opening: Opening) -> Opened | AlreadyEnded:
        with self._register.lock:
            dead = self._give_up_dead(opening)
            same = self._register.same_as(opening)
            if same is not None and same.result is not None:
                return AlreadyEnded(result=same.result)
            if same is not None and (same.given_up or same.opening.turn_id != opening.turn_id):
                raise _running_as(same, opening)
            admission = self._admission(opening, dead)
            epoch = same.epoch if same else max((turn.epoch for turn in dead), default=1)
            if isinstance(admission, Granted):
                self._enter(opening, epoch)
            elif same is not None:
                self._undo(opening)
            return Opened(
                admission=admission,
                versions=tuple((owner, self._version_of(owner)) for owner in opening.owners),
                resting=self._resting(opening.owners),
                epoch=epoch,
            )

    def admit(self, check: AdmissionCheck) -> Admission:
        with self._register.lock:
            return self._admissions.ask(check, self._now())

    def close(self, closing: Closing) -> None:
        with self._register.lock:
            turn = self._register.get(closing.turn_id)
            if turn is not None and turn.result is not None:
                return
            if turn is None and closing.result.refusal is not None:
                self._register.add(_refused(closing, self._now()))
            if turn is not None and turn.epoch == closing.epoch:
                turn.result, turn.ended_at = closing.result, self._now()
                self._free(_place(closing.server, closing.channel_id), closing.turn_id)
            self._admissions.settle(closing.settle, turn_id=closing.turn_id)
        self._ledger.settle(closing.turn_id, closing.fates, entries=closing.entries)
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
                    self._hold(turn)
            return frozenset(i for i, turn in turns.items() if turn is None or turn.given_up)

    def mark_unreachable(self, server: Owner, channel_id: str, *, for_s: float) -> None:
        place = _place(server, channel_id)
        with self._register.lock:
            self._unreachable[place] = _later(self._unreachable.get(place), self._in(for_s))

    def look(self, opening: Opening) -> Standing:
        with self._register.lock:
            now, place = self._now(), _place(opening.server, opening.channel_id)
            busy_until = self._leases.get(place, ("", now))[1] if opening.serialize else now
            found = self._admissions.look(opening.admission, now)
            return replace(
                found,
                away_until=_if_later(self._unreachable.get(place, now), now),
                busy_until=_if_later(busy_until, now),
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
        """Free the channel and the unit of a turn that was swept."""
        with self._register.lock:
            self._free(_place(turn.opening.server, turn.opening.channel_id), turn.opening.turn_id)
            self._admissions.let_go(turn.opening.turn_id)

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

    def _give_up_dead(self, opening: Opening) -> tuple[Turn, ...]:
        same = self._register.same_as(opening)
        there = self._register.in_channel(str(opening.server), opening.channel_id)
        dead = tuple(
            turn
            for turn in (*there, *([same] if same and same not in there else []))
            if turn.is_running
            and not self._register.is_alive(turn)
            and turn.opening.turn_id != opening.turn_id
        )
        for turn in dead:
            self._register.give_up(turn)
        return dead

    def _admission(self, opening: Opening, dead: tuple[Turn, ...]) -> Admission:
        place, now = _place(opening.server, opening.channel_id), self._now()
        away_until = self._unreachable.get(place, now)
        if away_until > now:
            return Refused(kind=RefusalKind.UNREACHABLE, until=away_until)
        holder, busy_until = self._leases.get(place, ("", now))
        if opening.serialize and busy_until > now and holder != opening.turn_id:
            return Refused(kind=RefusalKind.CHANNEL_BUSY, until=busy_until)
        if opening.admission is None:
            return Granted()
        gone = tuple(turn.opening.turn_id for turn in dead)
        return self._admissions.ask(opening.admission, now, instead_of=gone)

    def _enter(self, opening: Opening, epoch: int) -> None:
        alive_until = self._in(opening.alive_s)
        if self._register.get(opening.turn_id) is None:
            turn = Turn(
                opening=opening, epoch=epoch, alive_until=alive_until, opened_at=self._now()
            )
            self._register.add(turn)
        if opening.serialize:
            place = _place(opening.server, opening.channel_id)
            self._leases[place] = opening.turn_id, alive_until

    def _undo(self, opening: Opening) -> None:
        self._register.remove(opening.turn_id)
        self._free(_place(opening.server, opening.channel_id), opening.turn_id)

    def _resting(self, owners: tuple[Owner, ...]) -> frozenset[RestScope]:
        now = self._now()
        return frozenset(
            scope for scope, until in self._rests.items() if scope.owner in owners and until > now
        )

    # ── leases and time ─────────────────────────────────────────────────────────────────────

    def _hold(self, turn: Turn) -> None:
        place = _place(turn.opening.server, turn.opening.channel_id)
        if self._leases.get(place, ("",))[0] == turn.opening.turn_id:
            self._leases[place] = turn.opening.turn_id, turn.alive_until

    def _free(self, place: Place, turn_id: str) -> None:
        if self._leases.get(place, ("",))[0] == turn_id:
            del self._leases[place]

    def _now(self) -> datetime:
        return self._register.clock.now()

    def _in(self, seconds: float) -> datetime:
        return self._now() + timedelta(seconds=seconds)


def _refused(closing: Closing, now: datetime) -> Turn:
    """A turn that never began, with its result."""
    opening = Opening(
        turn_id=closing.turn_id,
        turn_key="",
        server=closing.server,
        channel_id=closing.channel_id,
        user_id=closing.user_id,
        admission=None,
    )
    return Turn(
        opening=opening,
        epoch=closing.epoch,
        alive_until=now,
        opened_at=now,
        result=closing.result,
        ended_at=now,
    )


def _place(server: Owner, channel_id: str) -> Place:
    return str(server), channel_id


def _if_later(until: datetime, now: datetime) -> datetime | None:
    return until if until > now else None


def _later(known: datetime | None, new: datetime) -> datetime:
    return new if known is None else max(known, new)


def _running_as(other: Turn, opening: Opening) -> AlreadyRunning:
    return AlreadyRunning(
        f"the turn {opening.turn_key or opening.turn_id} is being run as"
        f" {other.opening.turn_id}; wait for its end, or until it no longer counts as alive"
    )
