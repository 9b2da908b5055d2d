"""What is made of what was seen: pure, so that a broken turn can be tried on it."""

from collections.abc import Iterator, Sequence
from enum import Enum

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.fault import FROM_FALLBACK, Fault, Outage
from turnkeeper.interfaces.crashtest.observed import Observed
from turnkeeper.interfaces.crashtest.street import TEXTS

HANGS_AFTER_S = 120.0
"""Whoever has no end by then has none."""
LATE = "late:"
"""How a reason begins that a busy machine may be to blame for."""


class Grade(Enum):
    """How well a fault was survived."""

    PASS = "pass"  # noqa: S105 # nosec B105 - a grade
    PARTIAL = "partial"
    """The answer is whole, but not from whom, or not as soon or as cheaply, as it should be."""
    SAFE = "safe"
    """There is no answer, and that was said honestly."""
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"
    """The dialect cannot show the fault."""


@frozen
class Score:
    """A grade and its reasons.

    Attributes:
        by_choice: Whether it is no better because a setting asks for it.
    """

    grade: Grade
    why: tuple[str, ...] = ()
    by_choice: bool = False

    @property
    def counts_as_passed(self) -> bool:
        """Whether it leaves the crash test passed."""
        return self.by_choice or self.grade in (Grade.PASS, Grade.NOT_APPLICABLE)

    @property
    def is_only_late(self) -> bool:
        """Whether nothing but time is to blame."""
        late = bool(self.why) and all(why.startswith(LATE) for why in self.why)
        return self.grade is Grade.PARTIAL and late


def score(fault: Fault, seen: Observed, policy: ContentFilterPolicy) -> Score:
    """How well one turn came through a fault.

    Args:
        policy: What is done where content is refused.
    """
    if lies := tuple(lies_of(seen)):
        return Score(grade=Grade.FAIL, why=lies)
    expected, caller = fault.verdict, seen.caller
    if (caller.status, caller.answered_by) == (expected.status, expected.answered_by):
        broken = tuple(_broken(fault, seen))
        return Score(grade=Grade.PARTIAL if broken else Grade.PASS, why=broken)
    if caller.answered_by is None:
        return Score(grade=Grade.SAFE, why=(_said_honestly(seen),))
    if expected.answered_by is None:
        return _answered_all_the_same(policy)
    who = f"answered by the {caller.answered_by}, not by the {expected.answered_by}"
    return Score(grade=Grade.PARTIAL, why=(who,))


def _said_honestly(seen: Observed) -> str:
    said = "nobody answered, and that was said"
    parts = _truncated(seen)
    return f"{said} below {parts} messages of what broke off" if parts else said


def _truncated(seen: Observed) -> int:
    """How many messages are no whole answer, those aside that could not be deleted."""
    channel = seen.channel
    return sum(text not in TEXTS.values() for text in channel.said) - channel.stuck


def _answered_all_the_same(policy: ContentFilterPolicy) -> Score:
    if policy is ContentFilterPolicy.NEXT:
        why = "content_filter=next asks another model; stop lets the refusal stand"
        return Score(grade=Grade.PARTIAL, why=(why,), by_choice=True)
    return Score(grade=Grade.PARTIAL, why=("the refusal was not passed on",))


def score_outage(
    outage: Outage, meanwhile: Sequence[Observed], afterwards: Sequence[Observed]
) -> Score:
    """How well turns went on during an outage, and came back to the primary after it."""
    turns = (*meanwhile, *afterwards)
    if lies := tuple(dict.fromkeys(lie for seen in turns for lie in lies_of(seen))):
        return Score(grade=Grade.FAIL, why=lies)
    unanswered = sum(seen.caller.answered_by is None for seen in turns)
    if unanswered:
        why = f"{unanswered} of {len(turns)} turns got no answer, and that was said"
        return Score(grade=Grade.SAFE, why=(why,))
    broken = tuple(_broken_outage(outage, meanwhile, afterwards))
    return Score(grade=Grade.PARTIAL if broken else Grade.PASS, why=broken)


def hard_lies_of(seen: Observed) -> Iterator[str]:
    """What nobody may do, not even where nothing can be said: break a rule, hang, raise."""
    yield from seen.breaches
    if seen.caller.took_s >= HANGS_AFTER_S:
        yield f"no end within {HANGS_AFTER_S:g} s"
    elif seen.caller.raised is not None:
        yield f"raised {seen.caller.raised}"


def lies_of(seen: Observed) -> Iterator[str]:
    """The same, and also: pass a part off as the whole, or beside it, or say nothing."""
    if hard := tuple(hard_lies_of(seen)):
        yield from hard
        return
    caller, channel = seen.caller, seen.channel
    whole = TEXTS[caller.answered_by]
    cut = _truncated(seen)
    if cut > 0 and caller.status is not TurnStatus.ERROR:
        yield f"{cut} truncated messages stand in the channel"
    is_answer = caller.status is TurnStatus.COMPLETED and bool(whole)
    if is_answer and (caller.text != whole or channel.said[channel.stuck :] != (whole,)):
        yield "what the caller or the channel got is not the whole answer of the model it names"
    if caller.status is TurnStatus.COMPLETED and not whole:
        yield "completed without an answer"
    if caller.status is TurnStatus.ERROR and channel.errors != 1:
        yield f"{channel.errors} errors were said, not one"
    elif caller.answered_by is None and not channel.errors + channel.notices:
        yield "nobody was told that there is no answer"


def _broken(fault: Fault, seen: Observed) -> Iterator[str]:
    bounds, caller, calls = fault.bounds, seen.caller, len(seen.provider.primary)
    if caller.took_s > bounds.within_s:
        yield f"{LATE} it took {caller.took_s:.1f} s, not {bounds.within_s:g} s at most"
    if not bounds.least_calls <= calls <= bounds.most_calls:
        span = f"{bounds.least_calls} to {bounds.most_calls}"
        yield f"the primary was asked {calls} times, not {span}"
    if early := [gap for gap in seen.provider.gaps_s if gap < fault.wait_s]:
        yield f"asked again after {min(early):.1f} s, not {fault.wait_s:g} s at least"
    if fault.verdict.shrinks and not seen.provider.shrinks:
        yield "a request was not smaller than the one before"
    if bounds.exact_usage and caller.used_tokens != _USED:
        yield f"the usage is {caller.used_tokens}, not the fallback's {_USED}"
    if parts := _truncated(seen):
        yield f"{parts} messages stand beside what was said"
    if caller.answered_by is None and not _passes_on(fault, caller.failures):
        yield "the reason was not passed on"


def _passes_on(fault: Fault, failures: tuple[FailureKind, ...]) -> bool:
    return failures[-1:] == fault.verdict.failures[-1:]


def _broken_outage(
    outage: Outage, meanwhile: Sequence[Observed], afterwards: Sequence[Observed]
) -> Iterator[str]:
    in_vain = sum(len(seen.provider.primary) for seen in meanwhile)
    if in_vain > outage.most_calls:
        yield f"the primary was asked {in_vain} times in vain, not {outage.most_calls} at most"
    if not afterwards or afterwards[-1].caller.answered_by != "primary":
        yield f"{LATE} not back on the primary {outage.back_within_s:g} s after the outage"


_USED = (FROM_FALLBACK.counts.input_tokens, FROM_FALLBACK.counts.output_tokens)
