"""Which limit a running invocation runs into next."""

from collections.abc import Iterator

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TimeoutPhase
from turnkeeper.domain.policy import TimeLimits


class Progress:
    """How far an invocation is. Written by the thread that runs it, read by the one that waits.

    Each field is one reference, so that a reader sees an old or a new value, never a broken one.

    Attributes:
        call_opened_at_s: When the provider call under way began; None between calls.
        last_at_s: The last progress of that call, or None.
        spoke_at_s: The last that was not reasoning, or None; kept only where that is asked for.
        stint_began_at_s: Since when as many characters are awaited as one pace window must bring;
            None before the first, and where no pace is asked for.
        held_since_s: Since when the call's clocks stand still, as nobody reads; None if they run.
        calls: Provider calls so far.
    """

    call_opened_at_s: float | None = None
    last_at_s: float | None = None
    spoke_at_s: float | None = None
    stint_began_at_s: float | None = None
    held_since_s: float | None = None
    calls: int = 0

    def opened(self, now_s: float) -> None:
        """A provider call begins; a tool that is still posting does not hold it."""
        if self.calls:
            self.held_since_s = None
            self.last_at_s = self.spoke_at_s = self.stint_began_at_s = None
        self.call_opened_at_s = now_s
        self.calls += 1

    def made(self, now_s: float) -> None:
        """Text, reasoning or tool arguments came."""
        self.last_at_s = now_s

    def closed(self) -> None:
        """The provider call is over; tools or deliveries may follow."""
        self.call_opened_at_s = None

    def held(self, now_s: float) -> None:
        """A message is being posted: what the provider says meanwhile is read later."""
        self.held_since_s = now_s

    def resumed(self, now_s: float) -> None:
        """The provider is read again; the time between counts to none of its clocks."""
        if self.held_since_s is None:
            return
        for_s = now_s - self.held_since_s
        if self.call_opened_at_s is not None:
            self.call_opened_at_s += for_s
        if self.last_at_s is not None:
            self.last_at_s += for_s
        if self.spoke_at_s is not None:
            self.spoke_at_s += for_s
        if self.stint_began_at_s is not None:
            self.stint_began_at_s += for_s
        self.held_since_s = None  # last, so that no reader sees the clocks run too early


@frozen
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
    if progress.held_since_s is None:  # looked at first, see `resumed`
        first_s = limits.last_first_progress_s if may_be_slow else limits.first_progress_s
        candidates.extend(_of_the_call(progress, limits, first_s))
    return min(candidates, key=lambda limit: limit.at_s)


def _of_the_call(progress: Progress, limits: TimeLimits, first_s: float) -> Iterator[Limit]:
    opened = progress.call_opened_at_s
    last = progress.last_at_s if limits.reasoning_is_progress else progress.spoke_at_s
    began = progress.stint_began_at_s
    if opened is None:
        return
    if last is None:
        yield Limit(at_s=opened + first_s, phase=TimeoutPhase.FIRST_PROGRESS)
    else:
        yield Limit(at_s=last + limits.silence_s, phase=TimeoutPhase.SILENCE)
    if began is not None:
        yield Limit(at_s=began + limits.pace_window_s, phase=TimeoutPhase.PACE)
