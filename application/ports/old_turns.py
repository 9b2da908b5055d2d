"""What is kept of turns that are long over."""

from typing import Protocol

from turnkeeper.domain.frozen import frozen


@frozen
class Pruned:
    """How much was forgotten.

    Attributes:
        turns: Turns with their results, intents and signals.
        journals: Journals, whole ones.
        events: Entries of these journals, tool runs among them.
        messages: What the ledger held of these turns' messages.
        notices: Notices whose time has long been over.
        units: Quota units, charged or expired.
        refusals: Refusals that were remembered as said.
    """

    turns: int = 0
    journals: int = 0
    events: int = 0
    messages: int = 0
    notices: int = 0
    units: int = 0
    refusals: int = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was left to forget."""
        return self == Pruned()

    def plus(self, other: "Pruned") -> "Pruned":
        """Both."""
        return Pruned(
            turns=self.turns + other.turns,
            journals=self.journals + other.journals,
            events=self.events + other.events,
            messages=self.messages + other.messages,
            notices=self.notices + other.notices,
            units=self.units + other.units,
            refusals=self.refusals + other.refusals,
        )


class OldTurns(Protocol):
    """Forgets turns. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: Nothing was forgotten.
    """

    def prune(self, *, older_than_s: float, limit: int) -> Pruned:
        """Forget at most `limit` of each kind that are older; nothing of it where none is left.

        A turn that runs, is to be swept, or has something stuck that is tried again, stays whole,
        its journal too. The age is counted from its end, that of other things from their last use.
        """
        ...
