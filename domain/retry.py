"""Whether the same attempt is worth another invocation, and with which key and change.

All counts come from the outcomes; nothing is counted on the side.
"""

from turnkeeper.domain.adjust import Adjust, CapOutput, Repeat, Shrink, WithoutMedia
from turnkeeper.domain.answers import Prepared
from turnkeeper.domain.failure import REACTIONS, Failure, OtherKey, SameKey
from turnkeeper.domain.outcome import Failed, Outcome
from turnkeeper.domain.policy import TurnPolicy
from turnkeeper.domain.rotation import KeyId

MAX_SHRINKS_ON_LAST = 3

_NEVER, _ONCE = OtherKey.NEVER, OtherKey.ONCE  # looking it up takes as long as a call
_NOT_AT_ONCE = (SameKey.NEVER, SameKey.WAIT, SameKey.REPEAT)


def next_model_may_help(failure: Failure) -> bool:
    """Whether the chain goes on after it."""
    return REACTIONS[failure.kind].next_model


def invocations_left(outcomes: tuple[Outcome, ...], number: int, policy: TurnPolicy) -> int:
    """How many more times the attempt may run."""
    return policy.max_invocations - len(_of(outcomes, number))


def spent_keys(outcomes: tuple[Outcome, ...], number: int) -> frozenset[KeyId]:
    """The keys that the attempt has used."""
    leases = [outcome.ran.lease for outcome in _of(outcomes, number)]
    return frozenset([lease.key_id for lease in leases if lease is not None])


def has_reused(outcomes: tuple[Outcome, ...], number: int) -> bool:
    """Whether a key was leased for the attempt a second time, after a wait."""
    if len(outcomes) < 2:
        return False
    leases = {
        (lease.key_id, lease.leased_at)
        for outcome in _of(outcomes, number)
        if (lease := outcome.ran.lease) is not None
    }
    return len(leases) > len(spent_keys(outcomes, number))


def another_key_may_help(outcomes: tuple[Outcome, ...], last: Failed, policy: TurnPolicy) -> bool:
    """Whether another key is asked for; counted before it is leased."""
    reaction = REACTIONS[last.failure.kind]
    if reaction.other_key is _NEVER:
        return False
    if len(spent_keys(outcomes, last.ran.attempt_no)) >= policy.max_keys:
        return False
    if reaction.other_key is _ONCE:
        return _count(outcomes, last) == 1
    return True


def may_repeat(outcomes: tuple[Outcome, ...], last: Failed, policy: TurnPolicy) -> bool:
    """Whether the same request goes out once more, no other key being there."""
    return (
        REACTIONS[last.failure.kind].same_key is SameKey.REPEAT
        and not last.ran.superseded
        and not _has_repeated(outcomes, last)
        and invocations_left(outcomes, last.ran.attempt_no, policy) > 0
    )


def same_key(
    outcomes: tuple[Outcome, ...],
    last: Failed,
    prepared: Prepared,
    policy: TurnPolicy,
    *,
    is_last: bool,
) -> Adjust | None:
    """The change with which the same key is tried at once, or None.

    Args:
        is_last: Whether no other model remains.
    """
    failure = last.failure
    way = REACTIONS[failure.kind].same_key
    if way in _NOT_AT_ONCE:
        return None
    times = _count(outcomes, last)
    match way:
        case SameKey.CAPPED:
            tokens = failure.affordable_tokens
            useful = tokens is not None and tokens >= policy.min_affordable_tokens
            return CapOutput(tokens=tokens) if useful and tokens and times == 1 else None
        case SameKey.WITHOUT_MEDIA:
            return WithoutMedia() if prepared.has_media and times == 1 else None
        case SameKey.SHRUNK:
            if times > (MAX_SHRINKS_ON_LAST if is_last else 1):
                return None
            return _shrunk(outcomes, last, prepared, policy)
        case SameKey.REPEAT_CALL:
            return Repeat() if times == 1 else None
        case _:
            return None


def kept(before: tuple[Adjust, ...], adjust: Adjust) -> tuple[Adjust, ...]:
    """The changes that were needed so far, and still are."""
    is_change = isinstance(adjust, Shrink | WithoutMedia | CapOutput)
    return (*before, adjust) if is_change else before


def for_another_key(changes: tuple[Adjust, ...]) -> tuple[Adjust, ...]:
    """Those of them that do not go by one key's balance."""
    return tuple(change for change in changes if not isinstance(change, CapOutput))


def _shrunk(
    outcomes: tuple[Outcome, ...], last: Failed, prepared: Prepared, policy: TurnPolicy
) -> Shrink | None:
    """A strictly smaller prompt, by the stated numbers, else by a fixed share; None if it is as
    small as it gets."""
    least = max(prepared.least_tokens, policy.min_prompt_tokens)
    size = prepared.input_tokens
    for _ in range(_count(outcomes, last) - 1):
        size = max(least, int(size * policy.shrink_to))
    to_tokens = int(size * policy.shrink_to)
    limit, requested = last.failure.limit_tokens, last.failure.requested_tokens
    if limit and requested and requested > limit:
        to_tokens = min(to_tokens, int(size * limit / requested * 0.95))
    to_tokens = max(to_tokens, least)
    return Shrink(to_tokens=to_tokens) if to_tokens < size else None


def _of(outcomes: tuple[Outcome, ...], number: int) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.ran.attempt_no == number]


def _count(outcomes: tuple[Outcome, ...], last: Failed) -> int:
    """How often the attempt has failed like this, this time included."""
    return sum(
        isinstance(outcome, Failed) and outcome.failure.kind is last.failure.kind
        for outcome in _of(outcomes, last.ran.attempt_no)
    )


def _has_repeated(outcomes: tuple[Outcome, ...], last: Failed) -> bool:
    """Whether its key has already been used twice for such failures."""
    key = last.ran.lease.key_id if last.ran.lease else None
    same = [
        outcome
        for outcome in _of(outcomes, last.ran.attempt_no)
        if isinstance(outcome, Failed)
        and REACTIONS[outcome.failure.kind].same_key is SameKey.REPEAT
        and (outcome.ran.lease.key_id if outcome.ran.lease else None) == key
    ]
    return len(same) > 1
