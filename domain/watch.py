"""Which limit a running invocation runs into next."""

from dataclasses import dataclass

from turnkeeper.domain.outcome import TimeoutPhase
from turnkeeper.domain.policy import TimeLimits


@dataclass(slots=True)
class Progress:
    """How far an invocation is. Written by the thread that runs it, read by the one that waits.

    Each field is one reference, so that a reader sees an old or a new value, never a broken one.

    Attributes:
        call_opened_at_s: When the provider call under way began; None between calls.
        last_at_s: The last progress of that call, or None.
        calls: Provider calls so far.
    """

    call_opened_at_s: float | None = None
    last_at_s: float | None = None
    calls: int = 0

    def opened(self, now_s: float) -> None:
        """A provider call begins."""
        self.last_at_s = None
        self.call_opened_at_s = now_s
        self.calls += 1

    def made(self, now_s: float) -> None:
        """Text, reasoning or tool arguments came."""
        self.last_at_s = now_s

    def closed(self) -> None:
        """The provider call is over; tools or deliveries may follow."""
        self.call_opened_at_s = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """When the next limit is passed, and which."""

    at_s: float
    phase: TimeoutPhase


def next_limit(
    progress: Progress,
    limits: TimeLimits,
    *,
    started_at_s: float,
    turn_deadline_s: float,
    may_be_slow: bool,
) -> Limit:
    """The limit that is passed first if nothing more comes.

    Args:
        may_be_slow: Nothing else may answer, or the model is known to think first.
    """
    candidates = [
        Limit(at_s=turn_deadline_s, phase=TimeoutPhase.TURN),
        Limit(at_s=started_at_s + limits.attempt_s, phase=TimeoutPhase.ATTEMPT),
    ]
    opened, last = progress.call_opened_at_s, progress.last_at_s
    if opened is not None and last is None:
        first = limits.last_first_progress_s if may_be_slow else limits.first_progress_s
        candidates.append(Limit(at_s=opened + first, phase=TimeoutPhase.FIRST_PROGRESS))
    elif opened is not None and last is not None:
        candidates.append(Limit(at_s=last + limits.silence_s, phase=TimeoutPhase.SILENCE))
    return min(candidates, key=lambda limit: limit.at_s)
