"""The state of running turns: admission, quota, resting models, and how they ended."""

from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.domain.admission import Admission, AdmissionCheck, Granted
from turnkeeper.domain.events import Entry
from turnkeeper.domain.finish import Settle
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import RestScope
from turnkeeper.domain.rotation import Booking, Lease
from turnkeeper.domain.turn import TurnResult


@frozen
class Opening:
    """A turn that is about to begin.

    Attributes:
        turn_id: Its id, unique.
        turn_key: What makes it the same turn; empty opens without that check.
        server: The server it belongs to.
        channel_id: Where it speaks.
        user_id: Who asked, or None.
        admission: What it asks of the server's rules; None for a personal turn, and where the
            server has none.
        owners: Whose settings' versions and resting models it needs.
        serialize: Whether it takes the channel's lease.
        alive_s: How long it counts as alive without a sign of life.
    """

    turn_id: str
    turn_key: str
    server: Owner
    channel_id: str
    user_id: str | None
    admission: AdmissionCheck | None
    owners: tuple[Owner, ...] = ()
    serialize: bool = True
    alive_s: float = 30.0


@frozen
class Opened:
    """The turn may begin, or why not.

    Attributes:
        admission: Granted or refused; a channel that another turn holds is refused as
            CHANNEL_BUSY, a destination known as unreachable as UNREACHABLE. Neither takes a
            cooldown or a unit.
        versions: Pairs of owner and the version of its settings; 0 where nothing is set.
        resting: The models of these owners that rest.
        epoch: The turn's epoch; a write that finds another one says the turn was given up.
    """

    admission: Admission = field(default_factory=Granted)
    versions: tuple[tuple[Owner, int], ...] = ()
    resting: frozenset[RestScope] = frozenset()
    epoch: int = 1


@frozen
class AlreadyEnded:
    """The same turn has been run before, with this result."""

    result: TurnResult


@frozen
class Booked:
    """What came of a lease, to be noted on its key as `KeyRing.book` would.

    Attributes:
        lease: The lease.
        booking: What came of it.
        keeps_lease: The same lease was used again at once.
    """

    lease: Lease
    booking: Booking
    keeps_lease: bool = False


@frozen
class Closing:
    """How a turn ended; written in one transaction.

    Attributes:
        turn_id: Which turn.
        epoch: As opened.
        server: The server it belongs to.
        channel_id: Whose lease is given back, if it is still this turn's.
        settle: What becomes of its quota unit.
        result: Stored under the turn's key.
        fates: What has become of its messages since the last write.
        bookings: What its last invocations mean for their keys.
        entries: Journal entries that were not written yet.
        user_id: Who asked, or None.
    """

    turn_id: str
    epoch: int
    server: Owner
    channel_id: str
    settle: Settle
    result: TurnResult
    fates: Fates = Fates()
    bookings: tuple[Booked, ...] = ()
    entries: Sequence[Entry] = ()
    user_id: str | None = None


class TurnStore(Protocol):
    """Opens and closes turns. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: From every method. `open` and `admit` then took nothing.
    """

    def open(self, opening: Opening) -> Opened | AlreadyEnded:
        """Begin a turn: its row, the channel's lease, cooldown, quota, versions and rests, at once.

        Cooldown and quota are one decision: a refused quota leaves no cooldown. Both are
        idempotent by trigger key: the same trigger passes its own cooldown and holds its own
        unit; a reservation has one holder a turn.

        Raises:
            AlreadyRunning: A turn of the same key is alive.
        """
        ...

    def admit(self, check: AdmissionCheck) -> Admission:
        """Ask the server's rules again, for a turn that was planned on other credentials.

        A refusal is remembered by its trigger: the second time it is `already_said`.
        """
        ...

    def close(self, closing: Closing) -> None:
        """End a turn. A second call for the same turn changes nothing.

        One that was refused, and so never began, is kept with its result all the same, without
        its key: the same trigger may be tried again.

        A unit is charged once a trigger, by the first commit, even if its reservation has
        expired; it goes back when the last holder released it.
        """
        ...

    def rest(self, scope: RestScope, *, for_s: float) -> None:
        """Let a model rest; a rest only ever moves later."""
        ...

    def extend(self, turn_ids: tuple[str, ...], *, alive_s: float) -> frozenset[str]:
        """Say that these turns are alive; returns those that were given up meanwhile."""
        ...

    def mark_unreachable(self, server: Owner, channel_id: str, *, for_s: float) -> None:
        """Remember that nobody can be reached in the channel; a later `open` refuses."""
        ...
