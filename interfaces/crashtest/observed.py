"""What was seen of a turn that met a fault: by the caller, by the provider, in the channel."""

from collections.abc import Sequence
from itertools import pairwise

from turnkeeper.domain.events import Entry
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.wall.fault import Who


@frozen
class Caller:
    """What whoever ran the turn got.

    Attributes:
        took_s: How long it took, on the turn's own clock.
        status: How the turn ended; None where it did not, or raised.
        answered_by: Whose answer the result says it is.
        text: The answer.
        failures: Why others gave none, in order.
        used_tokens: Input and output, as reported; None if they were not.
        raised: What was raised in place of a result.
    """

    took_s: float
    status: TurnStatus | None = None
    answered_by: Who | None = None
    text: str = ""
    failures: tuple[FailureKind, ...] = ()
    used_tokens: tuple[int, int] | None = None
    raised: str | None = None


@frozen
class Call:
    """One request.

    Attributes:
        at_s: When, since the turn began.
        size_bytes: How long its body was.
        key: The key it came with.
    """

    at_s: float
    size_bytes: int
    key: str


@frozen
class Provider:
    """What the wall was asked.

    Attributes:
        primary: The calls of the primary model.
        fallback_calls: How many the others got.
    """

    primary: tuple[Call, ...] = ()
    fallback_calls: int = 0

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """The time from each call of the primary to the next one with the same key."""
        keys = dict.fromkeys(call.key for call in self.primary)
        return tuple(gap for key in keys for gap in _gaps_s(self.primary, key))

    @property
    def shrinks(self) -> bool:
        """Whether each call of the primary was smaller than the one before."""
        return all(b.size_bytes < a.size_bytes for a, b in pairwise(self.primary))


@frozen
class Channel:
    """What stands in the channel afterwards.

    Attributes:
        said: The texts of the answer's messages.
        notices: How many messages say that another model answered.
        errors: How many say that nobody did.
        taken_back: How many messages are gone again.
        stuck: How many could not be taken back, and the journal says so.
    """

    said: tuple[str, ...] = ()
    notices: int = 0
    errors: int = 0
    taken_back: int = 0
    stuck: int = 0


@frozen
class Observed:
    """All that was seen of one turn.

    Attributes:
        breaches: The invariants that its journal breaks, in words.
        entries: Its journal, as it was while it ran.
    """

    caller: Caller
    provider: Provider = Provider()
    channel: Channel = Channel()
    breaches: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()


def _gaps_s(calls: Sequence[Call], key: str) -> list[float]:
    return [b.at_s - a.at_s for a, b in pairwise(call for call in calls if call.key == key)]
