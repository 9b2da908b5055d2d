from dataclasses import replace
from typing import get_args

import pytest
from builders import a_failure, an_attempt

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import ServerRoute
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.steps import KEY_RESTS, NOTHING_CAME
from turnkeeper.interfaces.explain import DECISIONS, explained

STARTED = events.TurnStarted(
    route=Route.SERVER,
    attempts=(an_attempt(0), an_attempt(1)),
    server_route=ServerRoute.NOT_APPLICABLE.value,
    audience="person",
    resting=(1,),
)
RATE_LIMITED = a_failure(
    FailureKind.RATE_LIMIT,
    "slow down",
    status=429,
    rule="limit-code",
    evidence="code=rate_limit",
    retry_after_s=20.0,
)
WHY: list[tuple[Event, str]] = [
    (STARTED, "planned on the server route: model-0, then model-1; resting, so last: model-1"),
    (
        events.TurnRefused(kind="user_quota", where="planned route", already_said=True),
        "refused on the planned route: user quota, which was said before",
    ),
    (
        events.TurnRefused(kind="cooldown", where="planned route", next_in_s=40.2),
        "refused on the planned route: cooldown; may be tried again in 40 s",
    ),
    (events.QuotaReserved(trigger_key="k"), "set a unit of the server's quota aside for k"),
    (
        events.AttemptPrepared(attempt_no=0, input_tokens=12, max_output_tokens=50, dropped=2),
        "prepared model-0: about 12 tokens in, at most 50 out, 2 exchanges left out to fit",
    ),
    (
        events.AttemptUnpreparable(attempt_no=1, cause="no such model"),
        "passed model-1 over: no such model",
    ),
    (
        events.KeyLeased(attempt_no=0, key_id=3, is_main=True, is_probe=True),
        "lent key 3 for model-0: the owner's own key, as the one probe after its rest",
    ),
    (
        events.NoKeyLeft(attempt_no=0, next_in_s=18.8),
        "no key for model-0: all rest; the next in 18.8 s",
    ),
    (
        events.NoKeyLeft(attempt_no=0, next_in_s=None, cause="none is saved"),
        "no key for model-0: none is saved; none comes back by itself",
    ),
    (
        events.Waited(attempt_no=0, for_s=1.04, why="its key is coming back"),
        "waited 1.0 s with model-0: its key is coming back",
    ),
    (
        events.InvocationStarted(attempt_no=0, invocation_no=0, key_id=3, adjust="WithoutMedia"),
        "asked model-0 with key 3, changed: without media",
    ),
    (
        events.InvocationStarted(attempt_no=0, invocation_no=0, key_id=None),
        "asked model-0 without a key",
    ),
    (events.FirstProgress(invocation_no=0, after_s=0.25), "the first of it came after 0.250 s"),
    (
        events.MessagePosted(invocation_no=0, message_id="m1", origin="stream", chars=9),
        "posted message m1 (stream, 9 characters)",
    ),
    (
        events.MessageTakenBack(message_id="m1"),
        "took message m1 back: its attempt failed and another goes on",
    ),
    (events.MessageTakenBack(message_id="m1", late=True), "took message m1 back: it came too late"),
    (
        events.MessageStuck(message_id="m1", cause="forbidden"),
        "message m1 stays in the channel: forbidden",
    ),
    (
        events.InvocationEnded(
            attempt_no=0, invocation_no=0, outcome="Failed", failure=RATE_LIMITED, kept=("m1",)
        ),
        "model-0: rate limit 429 (slow down, back in 20 s as it says), message m1 in the channel;"
        " rule: limit-code; evidence: code=rate_limit; done: not in the journal; next: nothing"
        " rests",
    ),
    (
        events.InvocationEnded(attempt_no=1, invocation_no=1, outcome="Empty", detail="length"),
        "model-1: empty; rule: empty; evidence: finish=length; done: not in the journal; next:"
        " nothing rests",
    ),
    (
        events.InvocationEnded(attempt_no=1, invocation_no=1, outcome="Answered", detail="stop"),
        "model-1: answered (stop)",
    ),
    (
        events.KeyBooked(
            attempt_no=0,
            invocation_no=0,
            key_id=3,
            booking="error",
            error_class="rate_limit",
            rests="key",
            rest_s=20.0,
        ),
        "booked on key 3: error (rate limit); rests: key, 20 s",
    ),
    (
        events.KeyBooked(attempt_no=0, invocation_no=0, key_id=3, booking="success"),
        "booked on key 3: success; it does not rest",
    ),
    (
        events.ModelRested(attempt_no=1, for_s=15.0, cause="timeout"),
        "model-1 rests for 15 s: timeout",
    ),
    (
        events.ServerRouteAsked(answer="refused", cause="user_quota", next_in_s=3600.0),
        "asked for the server's models: refused: user quota; may be tried again in 3600 s",
    ),
    (
        events.InvocationStarted(
            attempt_no=0, invocation_no=0, key_id=3, adjust="Shrink", tokens=300
        ),
        "asked model-0 with key 3, changed: shrink to 300 tokens",
    ),
    (events.SignalHeard(signal="stop_requested"), "heard: stop requested"),
    (events.Said(what="fallback_notice", to="person"), "told the person: fallback notice"),
    (
        events.QuotaSettled(trigger_key="k", committed=False),
        "the unit of the server's quota was given back for k",
    ),
    (events.Finalized(status="completed"), "told the sink that the turn is over: completed"),
    (events.CleanedUp(), "released what the sink held"),
    (
        events.TurnEnded(
            status="completed",
            responses=1,
            delivered_by_tool=False,
            kept=("m2", "m3"),
            success_model="model-1",
        ),
        "the turn is over: completed by model-1; what stands in the channel: 2 messages",
    ),
    (
        events.ToolRan(invocation_no=1, name="roll", nth=1, state="done", replayed=True),
        "tool roll, call 2: done, answered from an earlier invocation",
    ),
    (
        events.ToolRan(invocation_no=0, name="roll", nth=0, state="unknown"),
        "tool roll, call 1: unknown",
    ),
    (
        events.TurnSwept(
            by="host:7", silent_s=61.2, last_seq=4, taken_back=("m1",), stuck=("m2",), absent=2
        ),
        "the turn was swept up by host:7: no sign of life for 61 s, so that what happened after"
        " entry 4 is not known; took back message m1, message m2 stuck, 2 never posted",
    ),
    (
        events.EffectFailed(effect="model rest", cause="the store is away"),
        "on the side, model rest did not work: the store is away",
    ),
    (
        events.EffectFailed(effect="fallback_notice", cause="Discord refused it"),
        "on the side, the fallback notice could not be said: Discord refused it",
    ),
    (
        events.EffectFailed(effect="settle", cause="the store is away"),
        "the end of the turn could not be written: the store is away; done: kept it to be"
        " written later, unless the store refuses it for good",
    ),
    (
        events.EffectFailed(effect="sink", cause="Discord refused it; done: asked again"),
        "trouble at the destination: Discord refused it; done: asked again",
    ),
    (
        events.InvocationEnded(
            attempt_no=1, invocation_no=1, outcome="Unreachable", detail="10003"
        ),
        "model-1: unreachable; rule: unreachable; evidence: code=10003 (the channel is gone);"
        " done: not in the journal; next: nothing rests",
    ),
]


def a_journal(*happened: Event) -> tuple[Entry, ...]:
    return tuple(
        Entry(turn_id="t1", seq=seq, at_s=seq * 0.5, event=event)
        for seq, event in enumerate(happened)
    )


@pytest.mark.parametrize(("event", "text"), WHY, ids=lambda it: type(it).__name__)
def test_each_event_has_its_why(event: Event, text: str) -> None:
    assert explained(a_journal(STARTED, event))[1].text == text


def test_no_kind_of_event_is_left_without_a_why() -> None:
    assert {type(event) for event, _ in WHY} == set(get_args(Event))


def test_models_of_the_opened_server_route_are_known_by_name() -> None:
    opened = events.ServerRouteAsked(answer="opened", attempts=(an_attempt(2),))
    leased = events.KeyLeased(attempt_no=2, key_id=1, is_main=False, is_probe=False)

    lines = [why.text for why in explained(a_journal(STARTED, opened, leased))]

    assert lines[1:] == [
        "asked for the server's models: opened: model-2",
        "lent key 1 for model-2: the least used key that is free",
    ]


def test_a_closed_server_route_is_given_its_reason() -> None:
    started = events.TurnStarted(
        route=Route.PERSONAL,
        attempts=(an_attempt(0),),
        server_route=ServerRoute.OPTED_OUT.value,
        audience="person",
    )

    (why,) = explained(a_journal(started))

    assert why.text.endswith(f"the server's models may not follow: {ServerRoute.OPTED_OUT.value}")


def test_only_decisions_are_told_where_only_decisions_are_asked_for() -> None:
    told = explained(a_journal(*(event for event, _ in WHY)), decisions_only=True)

    assert [why.entry.event for why in told] == [e for e, _ in WHY if isinstance(e, DECISIONS)]


def test_a_line_begins_with_its_time() -> None:
    (_, second) = explained(a_journal(STARTED, events.CleanedUp()))

    assert str(second) == "   0.500 s  released what the sink held"


FAILED = events.InvocationEnded(
    attempt_no=0, invocation_no=0, outcome="Failed", failure=RATE_LIMITED
)
BOOKED = events.KeyBooked(
    attempt_no=0, invocation_no=0, key_id=3, booking="error", rests="key", rest_s=20.0
)
RAN = events.InvocationStarted(attempt_no=0, invocation_no=1, key_id=3)
ENDED = events.TurnEnded(status="error", responses=0, delivered_by_tool=False)
OUTAGE = replace(FAILED, failure=a_failure(FailureKind.OVERLOADED, status=503))
FILTERED = replace(FAILED, failure=a_failure(FailureKind.CONTENT_FILTER))
NO_KEY = events.NoKeyLeft(attempt_no=0, next_in_s=20.0)
DONE: list[tuple[str, tuple[Event, ...], str, str]] = [
    (
        "another key",
        (FAILED, BOOKED, events.KeyLeased(attempt_no=0, key_id=4, is_main=False, is_probe=False)),
        "took key 4 in its place",
        "key 3 in 20 s",
    ),
    (
        "a wait",
        (FAILED, BOOKED, NO_KEY, events.Waited(attempt_no=0, for_s=2.0, why=KEY_RESTS)),
        "waited 2.0 s for a key",
        "key 3 in 20 s",
    ),
    (
        "the next model",
        (FAILED, BOOKED, NO_KEY, events.AttemptUnpreparable(attempt_no=1, cause="no")),
        "went on to model-1, since no key is free: all rest",
        "key 3 in 20 s",
    ),
    (
        "the same key with a change",
        (FAILED, replace(RAN, adjust="CapOutput", tokens=50)),
        "asked model-0 again with the same key, changed: cap output to 50 tokens",
        "nothing rests",
    ),
    ("a repetition", (FAILED, replace(RAN, adjust="Repeat")),
     "asked model-0 again with the same key", "nothing rests"),
    (
        "run again",
        (replace(FAILED, outcome="Empty", failure=None),
         events.Waited(attempt_no=0, for_s=1.0, why=NOTHING_CAME)),
        "waited 1.0 s, and ran the turn again",
        "nothing rests",
    ),
    (
        "the server's models",
        (OUTAGE, events.ModelRested(attempt_no=0, for_s=15.0, cause="overloaded"),
         events.ServerRouteAsked(answer="opened")),
        "asked for the server's models",
        "model-0 in 15 s",
    ),
    (
        "a signal",
        (FAILED, replace(BOOKED, rests="key until it is edited"),
         events.SignalHeard(signal="stop_requested")),
        "ended the turn, as was heard: stop requested",
        "key 3 once it is edited",
    ),
    (
        "the end",
        (FAILED, replace(BOOKED, rests="key for this model"), ENDED),
        "ended the turn, as nothing is left to try",
        "key 3 for model-0 in 20 s",
    ),
    ("a refusal that stands", (FILTERED, ENDED),
     "ended the turn, as the server lets a refusal stand", "nothing rests"),
    (
        "a dead store",
        (replace(FAILED, failure=a_failure(FailureKind.STORE)), ENDED),
        "ended the turn, as no other model could help",
        "nothing rests",
    ),
    (
        "nobody there",
        (replace(FAILED, outcome="Unreachable", failure=None, detail="10003"), ENDED),
        "ended the turn, as nobody can be reached",
        "nothing rests",
    ),
    ("a dead process", (FAILED, events.TurnSwept(by="host:7", silent_s=61.0), ENDED),
     "not in the journal", "nothing rests"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("happened", "done", "rests"), [row[1:] for row in DONE], ids=[row[0] for row in DONE]
)
def test_of_a_failure_it_is_said_what_was_done_and_what_rests(
    happened: tuple[Event, ...], done: str, rests: str
) -> None:
    strict = replace(STARTED, policy=TurnPolicy(content_filter=ContentFilterPolicy.STOP))

    because = explained(a_journal(strict, *happened))[1].because

    assert because is not None
    assert (because.done, because.next) == (done, rests)


def test_it_is_said_who_asked_and_where() -> None:
    started = replace(STARTED, server_id="guild", user_id="ann")

    (why,) = explained(a_journal(started))

    assert why.text.startswith("planned on the server route for user ann of server guild: ")
