"""What is being posted, and what is in the channel: the record that survives the process."""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import Delivery, Origin


class IntentState(Enum):
    """What is known of a message."""

    INTENDED = "intended"
    POSTED = "posted"
    TAKEN_BACK = "taken_back"
    STUCK = "stuck"
    ABSENT = "absent"
    """It was looked for, and is not there."""


@frozen
class Intent:
    """A message that is about to be posted.

    Attributes:
        intent_id: Its id, unique; also the nonce where the destination takes one.
        turn_id: Which turn.
        epoch: As the turn was opened.
        server_id: The server it belongs to.
        channel_id: Where it goes.
        origin: What posts it.
        content_hash: SHA-256 of its text without blanks around it, hex.
        invocation_no: Which invocation of the turn.
        thread_id: The thread within the channel, or None.
        webhook_id: The webhook that sends it, or None.
        webhook_is_temporary: Whether that webhook is to go with the turn.
        chars: How long that text is; 0 if that was not written down.
    """

    intent_id: str
    turn_id: str
    epoch: int
    server_id: str
    channel_id: str
    origin: Origin
    content_hash: str
    invocation_no: int = 0
    thread_id: str | None = None
    webhook_id: str | None = None
    webhook_is_temporary: bool = False
    chars: int = 0


@frozen
class Fates:
    """What has become of a turn's messages since the last write.

    Attributes:
        posted: Pairs of intent id and what is now in the channel.
        taken_back: Ids of messages that are gone.
        stuck: Ids of messages that the destination does not delete.
    """

    posted: tuple[tuple[str, Delivery], ...] = ()
    taken_back: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()

    def plus(self, later: "Fates") -> "Fates":
        """These and later ones."""
        if self is NO_FATES:
            return later
        return Fates(
            posted=self.posted + later.posted,
            taken_back=self.taken_back + later.taken_back,
            stuck=self.stuck + later.stuck,
        )


NO_FATES = Fates()
"""Nothing has become of any message."""


class Ledger(Protocol):
    """Writes an intent before each post; the message's id goes with the next write.

    Raises:
        StoreUnavailable: From every method; an intent that was not written must not be posted.
    """

    def intend(
        self, intent: Intent, *, fates: Fates = NO_FATES, entries: Sequence[Entry] = ()
    ) -> bool:
        """Write an intent, what has become of earlier ones, and journal entries, at once.

        Returns:
            False where the turn was given up meanwhile (its epoch moved): post nothing.
        """
        ...

    def settle(self, turn_id: str, fates: Fates, *, entries: Sequence[Entry] = ()) -> None:
        """Write what has become of messages, and journal entries."""
        ...

    def left_by(self, turn_id: str) -> tuple[tuple[Intent, IntentState, str | None], ...]:
        """All intents of a turn with their state and message id, in order of writing."""
        ...
