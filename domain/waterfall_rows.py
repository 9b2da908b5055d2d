"""What a waterfall is made of."""

from enum import Enum

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import RUNNING, TurnStatus

QUIET_S = 1.0
"""A shorter stretch without a sign of life is not worth a mark."""
GOOD_ENDS = frozenset({TurnStatus.COMPLETED.value})
NEUTRAL_ENDS = frozenset(
    {
        TurnStatus.STOPPED_BY_USER.value,
        TurnStatus.FOLLOW_UP_INTERRUPT.value,
        TurnStatus.SKIPPED.value,
        RUNNING,
    }
)


class RowKind(Enum):
    """What a row speaks of."""

    INVOCATION = "invocation"
    WAIT = "wait"
    TOOL = "tool"
    DELIVERY = "delivery"
    NOTE = "note"
    END = "end"


class Tone(Enum):
    """How it went."""

    GOOD = "good"
    BAD = "bad"
    UNDONE = "undone"
    NEUTRAL = "neutral"


@frozen(kw_only=False)
class Span:
    """A stretch of time, in seconds since the turn began."""

    from_s: float
    to_s: float

    @property
    def length_s(self) -> float:
        """How long it is."""
        return self.to_s - self.from_s


@frozen
class Row:
    """One row of a waterfall.

    Attributes:
        kind: What it speaks of.
        label: Who or what: a model with its key, a tool, a message.
        span: From when to when; what took no time begins where it ends.
        tone: How it went.
        says: How it went, in words.
        first_progress_s: When the first text, reasoning or tool argument came, or None.
        quiet: Stretches of an invocation, of at least `QUIET_S`, in which nothing came.
    """

    kind: RowKind
    label: str
    span: Span
    tone: Tone
    says: str
    first_progress_s: float | None = None
    quiet: tuple[Span, ...] = ()


@frozen
class Waterfall:
    """All rows of one turn.

    Attributes:
        rows: In the order in which they began.
        length_s: When the last of them ended.
    """

    rows: tuple[Row, ...]
    length_s: float


def tone_of(status: str) -> Tone:
    """How a turn that ended so went."""
    if status in GOOD_ENDS:
        return Tone.GOOD
    return Tone.NEUTRAL if status in NEUTRAL_ENDS else Tone.BAD
