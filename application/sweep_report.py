"""What a sweep found and did, and who hears of it."""

from collections.abc import Callable

from turnkeeper.domain.frozen import frozen


@frozen
class LostTurn:
    """A turn whose process died; the host may run it again.

    Attributes:
        turn_id: Its id.
        server_id: The server it belonged to.
        channel_id: Where it spoke.
        user_id: Who had asked, or None.
        turn_key: Trigger, persona and retry, as the request had them; empty if it had no trigger.
        successor: The turn of the same key that was run since, or None: then nobody answers.
        taken_back: Ids of the messages that were taken back.
        stuck: Ids of those that still stand, since the destination refuses to delete them.
    """

    turn_id: str
    server_id: str
    channel_id: str
    user_id: str | None
    turn_key: str
    successor: str | None = None
    taken_back: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()

    @property
    def trigger_id(self) -> str:
        """The request's trigger; empty if it had none."""
        return self.turn_key.rsplit("/", 2)[0]


OnLostTurn = Callable[[LostTurn], None]
"""Told once of each lost turn, on the sweeper's thread; what it raises is logged."""


def nobody(lost: LostTurn) -> None:
    """Who is told where no host wants to know."""


@frozen
class SweepReport:
    """What one sweep did.

    Attributes:
        lost: The turns that were found dead.
        retried: How many others had something left that was tried again.
        taken_back: Ids of the messages that were taken back.
        stuck: Ids of those that the destination refuses to delete; they are tried again.
        absent: How many messages were intended and never posted.
        unsure: How many may be another turn's, and are looked for again later.
        webhooks: Ids of the temporary webhooks that were deleted.
        failed: Pairs of a turn's id and why it could not be swept; it is tried again.
    """

    lost: tuple[LostTurn, ...] = ()
    retried: int = 0
    taken_back: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    absent: int = 0
    unsure: int = 0
    webhooks: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()

    def plus(self, other: "SweepReport") -> "SweepReport":
        """Both."""
        return SweepReport(
            lost=self.lost + other.lost,
            retried=self.retried + other.retried,
            taken_back=self.taken_back + other.taken_back,
            stuck=self.stuck + other.stuck,
            absent=self.absent + other.absent,
            unsure=self.unsure + other.unsure,
            webhooks=self.webhooks + other.webhooks,
            failed=self.failed + other.failed,
        )
