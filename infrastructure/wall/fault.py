"""What a fault is, how a turn ends that meets it, and the answers that go with it."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import ContentFilterPolicy, TimeLimits
from turnkeeper.infrastructure.wall.answer import Answer, Usage
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.script import Step

Family = Literal["openai", "openrouter", "google", "anthropic"]
Who = Literal["primary", "fallback"]
Steps = tuple[Step, ...]

FROM_PRIMARY = Answer(text="The first model's whole answer.")
FROM_FALLBACK = Answer(
    text="The second model's whole answer.", usage=Usage(input_tokens=70, output_tokens=7)
)
STORY = Answer(
    tokens=tuple(f"A sentence that fills the channel, number {n}.\n\n" for n in range(1, 61))
)
"""Long enough that some of it stands in the channel when it breaks off."""

PATIENT = TimeLimits()
BRISK = TimeLimits(first_progress_s=0.4, silence_s=0.4, settle_s=1.0)
"""For silences, which last as long as real ones, and are left early."""


@frozen
class Verdict:
    """How a turn ended.

    Attributes:
        answered_by: Whose whole answer stands in the channel, and nothing else; None for nobody's.
        primary_calls: How often the primary was asked.
        fallback_calls: How often the fallback was.
        failures: Why there was no answer before, or none at all.
        status: How the turn ended.
        takes_back: Whether something had been shown that is gone now.
        shrinks: Whether each further request to the primary was smaller than the one before; else
            all of them were the same.
    """

    answered_by: Who | None
    primary_calls: int = 1
    fallback_calls: int = 0
    failures: tuple[FailureKind, ...] = ()
    status: TurnStatus = TurnStatus.COMPLETED
    takes_back: bool = False
    shrinks: bool = False


@frozen
class Bounds:
    """What a fault may cost a turn that runs with the usual time limits.

    Attributes:
        within_s: How long the turn may take.
        least_calls: How often the primary is asked, at least; whoever gives up sooner did not try.
        most_calls: How often it is asked, at most.
        exact_usage: Whether the turn's usage is the answer's alone.
    """

    within_s: float = 60.0
    least_calls: int = 1
    most_calls: int = 6
    exact_usage: bool = False


@frozen
class Fault:
    """One fault, met in one turn.

    Attributes:
        id: What it is known by.
        name: What it is, in a few words.
        primary: What the primary's calls meet; by family where that differs.
        fallback: What the fallback's calls meet.
        verdict: How the turn ends.
        wait_s: How long the primary asks to be left alone before it is asked again.
        bounds: What it may cost.
        limits: With which time limits a turn meets it that is to be over soon.
        content_filter: What is done where content is refused.
        not_in: Pairs of a family that cannot show the fault, and the reason.
    """

    id: str
    name: str
    primary: Steps | Mapping[Family, Steps] = field(repr=False)
    fallback: Steps = field(default=(FROM_FALLBACK,), repr=False)
    verdict: Verdict
    wait_s: float = 0.0
    bounds: Bounds = Bounds()
    limits: TimeLimits = PATIENT
    content_filter: ContentFilterPolicy = ContentFilterPolicy.NEXT
    not_in: tuple[tuple[Family, str], ...] = ()

    def met_by_primary(self, family: Family) -> Steps:
        """What the primary's calls meet, in that family's words."""
        return self.primary[family] if isinstance(self.primary, Mapping) else self.primary


@frozen
class Outage:
    """The primary is away for a while, and turns go on, one after the other.

    Attributes:
        id: What it is known by.
        name: What it is, in a few words.
        down: What the primary's calls meet meanwhile.
        for_s: How long.
        every_s: From one turn to the next.
        back_within_s: How long after its end the primary answers again at the latest.
        most_calls: How often it is asked in vain, at most.
    """

    id: str
    name: str
    down: Behaviour
    for_s: float
    every_s: float
    back_within_s: float
    most_calls: int
