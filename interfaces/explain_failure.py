"""A failed invocation, explained: how it was known, what was done, and what rests."""

from collections.abc import Callable, Iterable

from turnkeeper.domain import events
from turnkeeper.domain.events import Event, InvocationEnded
from turnkeeper.domain.failure import REACTIONS, CooldownScope, Failure, FailureKind
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.steps import KEY_RESTS
from turnkeeper.infrastructure.discord.codes import MEANINGS
from turnkeeper.interfaces.explain_words import LONGEST_WORDS, messages, so, words

Name = Callable[[int], str]

WITHOUT_FAILURE = {"Empty": "finish", "Unreachable": "code"}
"""Outcomes that are decided upon though nothing failed, and what their detail is."""


@frozen
class Because:
    """What stands behind a decision.

    Attributes:
        rule: Which rule knew what had happened.
        evidence: What it saw, redacted.
        done: What was done about it.
        next: What rests, and until when.
    """

    rule: str
    evidence: str
    done: str
    next: str

    def __str__(self) -> str:
        return f"rule: {self.rule}; evidence: {self.evidence}; done: {self.done}; next: {self.next}"


def what_failed(event: InvocationEnded, name: Name) -> str:
    """What happened, in the provider's words as far as they may be repeated."""
    kept = f", {messages(event.kept)} in the channel" if event.kept else ""
    return f"{name(event.attempt_no)}: {_what(event)}{kept}"


def because(
    event: InvocationEnded, after: Iterable[Event], name: Name, policy: TurnPolicy | None
) -> Because:
    """Why it was so, and what came of it.

    Args:
        after: What happened after it in the turn.
        policy: How hard the turn tried, where the journal says so.
    """
    later = tuple(after)
    rule, evidence = _known_by(event)
    return Because(
        rule=rule,
        evidence=evidence,
        done=_done(event, later, name, policy),
        next=_next(event, later, name),
    )


def _what(event: InvocationEnded) -> str:
    failure = event.failure
    if failure is None:
        return words(event.outcome)
    status = f" {failure.status}" if failure.status else ""
    text = " ".join(failure.message.split())[:LONGEST_WORDS]
    after_s = failure.retry_after_s
    hint = f", back in {after_s:g} s as it says" if after_s is not None else ""
    return f"{words(failure.kind.value)}{status} ({text}{hint})"


def _known_by(event: InvocationEnded) -> tuple[str, str]:
    failure = event.failure
    if failure is None:
        meaning = MEANINGS.get(event.detail, "") if event.outcome == "Unreachable" else ""
        said = f"{event.detail or 'unsaid'}{f' ({meaning})' if meaning else ''}"
        return event.outcome.lower(), f"{WITHOUT_FAILURE[event.outcome]}={said}"
    return failure.rule or failure.kind.value, failure.evidence or _seen_in(failure)


def _seen_in(failure: Failure) -> str:
    return f"status={failure.status}" if failure.status else "its words"


# ── what was done ───────────────────────────────────────────────────────────────────────────


def _done(
    event: InvocationEnded, after: tuple[Event, ...], name: Name, policy: TurnPolicy | None
) -> str:
    since = ""
    for later in after:
        match later:
            case events.NoKeyLeft(cause=cause):
                since = f", since no key is free{so(cause or 'all rest')}"
            case events.KeyLeased(key_id=key_id):
                return f"took key {key_id} in its place"
            case events.Waited(why=why, for_s=for_s) if why == KEY_RESTS:
                return f"waited {for_s:.1f} s for a key"
            case events.Waited(for_s=for_s):
                return f"waited {for_s:.1f} s, and ran the turn again"
            case events.InvocationStarted():
                return f"asked {name(later.attempt_no)} again with the same key{_changed(later)}"
            case events.AttemptPrepared() | events.AttemptUnpreparable():
                return f"went on to {name(later.attempt_no)}{since}"
            case events.ServerRouteAsked():
                return f"asked for the server's models{since}"
            case events.SignalHeard(signal=signal):
                return f"ended the turn, as was heard: {words(signal)}"
            case events.TurnEnded():
                return f"ended the turn{_why_it_ended(event, policy)}"
            case events.TurnSwept():
                break
            case _:
                pass
    return "not in the journal"


def _changed(event: events.InvocationStarted) -> str:
    if event.adjust in ("AsIs", "Repeat"):
        return ""
    tokens = f" to {event.tokens} tokens" if event.tokens is not None else ""
    return f", changed: {words(event.adjust)}{tokens}"


def _why_it_ended(event: InvocationEnded, policy: TurnPolicy | None) -> str:
    if event.outcome == "Unreachable":
        return ", as nobody can be reached"
    kind = event.failure.kind if event.failure else FailureKind.EMPTY
    stops = policy is not None and policy.content_filter is ContentFilterPolicy.STOP
    if kind is FailureKind.CONTENT_FILTER and stops:
        return ", as the server lets a refusal stand"
    if not REACTIONS[kind].next_model:
        return ", as no other model could help"
    return ", as nothing is left to try"


# ── what rests ──────────────────────────────────────────────────────────────────────────────


def _next(event: InvocationEnded, after: tuple[Event, ...], name: Name) -> str:
    model = name(event.attempt_no)
    for number, later in enumerate(after):
        if isinstance(later, events.InvocationStarted | events.TurnEnded):
            after = after[:number]
            break
    found = [rest for later in after if (rest := _rest(later, event, model))]
    return " and ".join(found) or "nothing rests"


def _rest(later: Event, event: InvocationEnded, model: str) -> str | None:
    match later:
        case events.ModelRested(for_s=for_s):
            return f"{model} in {for_s:.0f} s"
        case events.KeyBooked() if later.invocation_no == event.invocation_no:
            return _key_rest(later, model)
        case _:
            return None


def _key_rest(booked: events.KeyBooked, model: str) -> str | None:
    match booked.rests:
        case CooldownScope.KEY.value:
            return f"key {booked.key_id} in {booked.rest_s:.0f} s"
        case CooldownScope.KEY_FOR_MODEL.value:
            return f"key {booked.key_id} for {model} in {booked.rest_s:.0f} s"
        case CooldownScope.KEY_DISABLED.value:
            return f"key {booked.key_id} once it is edited"
        case _:
            return None
