"""Turns whose process died, and what of theirs is still to be put right."""

from datetime import datetime
from typing import Protocol

from turnkeeper.application.ports.ledger import Fates, Intent, IntentState
from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId

GRACE_S = 30.0
"""How long after `alive_until` a turn counts as dead."""
CLAIM_S = 120.0
"""How long a sweeper may take over its turns, before another takes them over."""
LENT_S = 60.0
"""How long after its last lease a key is looked at."""


@frozen
class Left:
    """An intent of a turn, and what is known of its message.

    Attributes:
        intent: What was to be posted.
        state: What is known.
        message_id: Of its message, where that is known.
        written_at: When the intent was written, by the store's clock.
    """

    intent: Intent
    state: IntentState
    message_id: str | None
    written_at: datetime


@frozen
class Orphan:
    """A turn that is to be swept up after.

    Attributes:
        turn_id: Its id.
        server: The server it belongs to.
        channel_id: Where it spoke.
        user_id: Who had asked, or None.
        turn_key: What made it the same turn; empty if nothing did.
        claim_no: Which claim this is; a later one makes it void.
        opened_at: When it began.
        alive_until: Until when it counted as alive.
        now: When it was claimed; all three by the store's clock.
        ended_itself: It came to its end, and only what is stuck is due.
        swept_before: It was swept before, and only what is left is due.
        successor: A turn of the same key that was opened since, or None.
        left: Its intents, in order of writing.
    """

    turn_id: str
    server: Owner
    channel_id: str
    user_id: str | None
    turn_key: str
    claim_no: int
    opened_at: datetime
    alive_until: datetime
    now: datetime
    ended_itself: bool = False
    swept_before: bool = False
    successor: str | None = None
    left: tuple[Left, ...] = ()


@frozen
class IdleKey:
    """A key that the turn had been lent, and that nobody uses any more."""

    owner: Owner
    provider: str
    key_id: KeyId


@frozen
class Swept:
    """What was done for an orphan; written in one transaction.

    Attributes:
        orphan: As claimed.
        fates: What was found, taken back, or is stuck.
        absent: Ids of intents whose message is nowhere.
        idle_keys: What goes back to the keys' pools.
        entries: What its journal says of that.
        again_in_s: When what is left is due again; None if nothing is.
    """

    orphan: Orphan
    fates: Fates = Fates()
    absent: tuple[str, ...] = ()
    idle_keys: tuple[IdleKey, ...] = ()
    entries: tuple[Entry, ...] = ()
    again_in_s: float | None = None


class Orphans(Protocol):
    """Hands each orphan to one sweeper. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: From every method: nothing was claimed or written.
    """

    def are_due(self, *, grace_s: float = GRACE_S) -> bool:
        """Whether a claim would find any; nothing is changed."""
        ...

    def claim(
        self, by: str, *, limit: int, grace_s: float = GRACE_S, claim_s: float = CLAIM_S
    ) -> tuple[Orphan, ...]:
        """Take turns that are dead, or that have something left which is due, oldest first.

        A dead turn is given up: its epoch moves, so that it posts nothing more, and its key is
        free. A claim holds for `claim_s`; then another may take the turn over.

        Args:
            by: Who claims, for people who look.
            grace_s: How long after its last sign of life could be expected a turn is dead.
        """
        ...

    def others(self, orphan: Orphan, since: datetime) -> tuple[Left, ...]:
        """The intents of other turns in the orphan's channel that were written since."""
        ...

    def done(self, swept: Swept) -> bool:
        """Write what was done; lets its channel, its quota unit and its keys go.

        Returns:
            False where another has taken the turn over: nothing was written.
        """
        ...

    def remember(self, left: tuple[Left, ...]) -> None:
        """Add intents that their turn could not write; one already there is left as it is.

        What a turn left that is given up is due at once.
        """
        ...

    def free_keys(self) -> int:
        """Give back the leases that nobody can hold: an owner's turns hold one each at most.

        They are those that a dead turn's journal did not come to tell of, or whose answer was
        lost on its way. A key that was lent within `LENT_S` is left as it is.

        Returns:
            How many keys were lent too often.
        """
        ...

    def stuck(self) -> tuple[Left, ...]:
        """All messages that the destination refuses to delete, oldest first."""
        ...
