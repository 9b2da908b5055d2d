"""Any answers and outcomes, in any order, end the turn rightly."""

from dataclasses import dataclass, field

from builders import Outcomes, a_delivery, a_lease, an_attempt, prepared
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.admission import Admission, Granted, RefusalKind, Refused, Reservation
from turnkeeper.domain.answers import (
    Heard,
    Leased,
    NoKey,
    RouteFailed,
    RouteOpened,
    RouteRefused,
    Signal,
    Unpreparable,
    Waited,
)
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.finish import Commit, Finish, Nothing
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import (
    Answered,
    Delivery,
    Interrupted,
    Origin,
    Outcome,
    Stopped,
    TimeoutPhase,
    Unreachable,
)
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Plan, ServerRoute
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.steps import (
    LeaseKey,
    OpenServerRoute,
    Prepare,
    RunInvocation,
    TurnState,
    Wait,
)

MAX_STEPS = 600
UNIT = Reservation(server_id="guild", trigger_key="t", holder="turn")
FINAL = Answered | Stopped | Interrupted | Unreachable

kinds = st.sampled_from(list(FailureKind))


@dataclass
class Walk:
    """What was seen on the way to the end."""

    visible: list[Delivery] = field(default_factory=list)
    ran: list[RunInvocation] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    asked: int = 0
    messages: int = 0
    retries: int = 0


@st.composite
def begun_states(draw: st.DrawFn) -> TurnState:
    count = draw(st.integers(0, 4))
    route = draw(st.sampled_from(Route))
    personal = route is Route.PERSONAL
    server_route = (
        draw(st.sampled_from([ServerRoute.MAY_OPEN, ServerRoute.OPTED_OUT]))
        if personal
        else ServerRoute.NOT_APPLICABLE
    )
    attempts = tuple(an_attempt(number, route=route) for number in range(count))
    offered: list[Admission] = [
        Granted(),
        Granted(reservation=UNIT),
        Refused(kind=RefusalKind.USER_QUOTA),
    ]
    admission = Granted() if personal else draw(st.sampled_from(offered))
    policy = TurnPolicy(
        max_keys=draw(st.integers(1, 3)),
        max_invocations=draw(st.integers(1, 6)),
        empty_fails_over=draw(st.booleans()),
        empty_opens_server_route=draw(st.booleans()),
        empty_retries=draw(st.integers(0, 2)),
        content_filter=draw(st.sampled_from(ContentFilterPolicy)),
    )
    resting = draw(st.frozensets(st.integers(0, 3), max_size=3))
    return TurnState.begin(
        Plan(route=route, attempts=attempts, server_route=server_route),
        admission=admission,
        policy=policy,
        audience=draw(st.sampled_from(Audience)),
        resting=resting,
    )


def an_outcome(data: st.DataObject, state: TurnState, walk: Walk) -> Outcome:
    posted = []
    for origin in data.draw(st.lists(st.sampled_from(Origin), max_size=3)):
        walk.messages += 1
        posted.append(a_delivery(f"m{walk.messages}", origin=origin))
    outcomes, messages = Outcomes(state), tuple(posted)
    name = data.draw(
        st.sampled_from(
            ["failed"] * 6
            + ["timed_out"] * 2
            + ["empty", "answered", "by_tool", "stopped", "interrupted", "unreachable", "crashed"]
        )
    )
    match name:
        case "failed":
            return outcomes.failed(
                data.draw(kinds),
                posted=messages,
                retry_after_s=data.draw(st.sampled_from([None, 0.0, 1.0, 90.0])),
                affordable_tokens=data.draw(st.sampled_from([None, 10, 5000])),
            )
        case "timed_out":
            return outcomes.timed_out(data.draw(st.sampled_from(TimeoutPhase)), posted=messages)
        case "empty":
            return outcomes.empty()
        case "answered":
            return outcomes.answered()
        case "by_tool":
            return outcomes.answered_by_tool()
        case "stopped":
            return outcomes.stopped(data.draw(st.sampled_from(["", "kept"])))
        case "interrupted":
            return outcomes.interrupted(data.draw(st.sampled_from(["", "kept"])))
        case "unreachable":
            return outcomes.unreachable()
        case _:
            return outcomes.crashed()


def a_lease_answer(data: st.DataObject, step: LeaseKey) -> Leased | NoKey:
    free = [key for key in (1, 2, 3, 4) if key not in step.without]
    if not free or data.draw(st.integers(0, 3)) == 0:
        next_at_s = data.draw(st.sampled_from([None, 101.0, 200.0]))
        return NoKey(attempt_no=step.attempt_no, next_at_s=next_at_s, now_s=100.0)
    return Leased(attempt_no=step.attempt_no, lease=a_lease(data.draw(st.sampled_from(free))))


def a_route_answer(data: st.DataObject, start_no: int) -> RouteRefused | RouteFailed | RouteOpened:
    kind = data.draw(st.integers(0, 3))
    if kind == 0:
        return RouteRefused(kind=RefusalKind.COOLDOWN)
    if kind == 1:
        return RouteFailed(cause="no")
    opened = tuple(
        an_attempt(start_no + n, route=Route.SERVER) for n in range(data.draw(st.integers(0, 3)))
    )
    return RouteOpened(attempts=opened, reservation=data.draw(st.sampled_from([None, UNIT])))


def step_on(data: st.DataObject, state: TurnState, walk: Walk) -> TurnState:
    """Perform the state's step in some drawn way."""
    if data.draw(st.integers(0, 60)) == 0:
        return state.told(Heard(data.draw(st.sampled_from(Signal))))
    match state.next_step():
        case Prepare(attempt_no=number):
            if data.draw(st.integers(0, 5)) == 0:
                return state.told(Unpreparable(attempt_no=number, cause="no"))
            size = data.draw(st.sampled_from([100, 50_000]))
            return state.told(
                prepared(number, input_tokens=size, has_media=data.draw(st.booleans()))
            )
        case LeaseKey() as step:
            return state.told(a_lease_answer(data, step))
        case Wait():
            walk.retries = state.course.retries
            return state.told(Waited())
        case RunInvocation() as step:
            for message in step.take_back:
                walk.visible.remove(message)
            outcome = an_outcome(data, state, walk)
            walk.ran.append(step)
            walk.outcomes.append(outcome)
            walk.visible.extend(outcome.ran.delivered)
            return state.after(outcome)
        case OpenServerRoute(start_no=start_no):
            walk.asked += 1
            return state.told(a_route_answer(data, start_no))
        case Finish():
            raise AssertionError("a finished turn makes no step")


def walked(data: st.DataObject, state: TurnState) -> tuple[TurnState, Finish, Walk]:
    walk = Walk()
    for _ in range(MAX_STEPS):
        step = state.next_step()
        if isinstance(step, Finish):
            return state, step, walk
        state = step_on(data, state, walk)
    raise AssertionError("the turn does not end")


@given(begun_states(), st.data())
def test_the_channel_holds_what_the_last_invocation_left_and_what_tools_posted(
    state: TurnState, data: st.DataObject
) -> None:
    _, _, walk = walked(data, state)
    last = walk.outcomes[-1].ran.delivered if walk.outcomes else ()
    by_tools = [
        message
        for outcome in walk.outcomes[:-1]
        for message in outcome.ran.delivered
        if message.origin is Origin.TOOL
    ]

    assert walk.visible == [*by_tools, *last]


@given(begun_states(), st.data())
def test_the_server_is_asked_at_most_once_and_only_where_it_may_be(
    state: TurnState, data: st.DataObject
) -> None:
    _, _, walk = walked(data, state)

    assert walk.asked <= (1 if state.plan.server_route is ServerRoute.MAY_OPEN else 0)


@given(begun_states(), st.data())
def test_keys_and_invocations_of_an_attempt_are_bounded(
    state: TurnState, data: st.DataObject
) -> None:
    end, _, walk = walked(data, state)

    rounds = end.course.retries + 1
    for number in {step.attempt_no for step in walk.ran}:
        mine = [step for step in walk.ran if step.attempt_no == number]
        assert len(mine) <= state.policy.max_invocations * rounds
        if rounds == 1:
            keys = {step.lease.key_id for step in mine if step.lease}
            assert len(keys) <= state.policy.max_keys


@given(begun_states(), st.data())
def test_attempts_begin_in_their_order_and_resting_ones_come_last_in_their_route(
    state: TurnState, data: st.DataObject
) -> None:
    end, _, walk = walked(data, state)

    if end.course.retries:
        return
    begun = list(dict.fromkeys(step.attempt_no for step in walk.ran))
    order = [number for number in end.course.plan_order if number in begun]
    assert begun == order


@given(begun_states(), st.data())
def test_nothing_runs_after_an_end_that_stands(state: TurnState, data: st.DataObject) -> None:
    _, _, walk = walked(data, state)

    assert not any(isinstance(outcome, FINAL) for outcome in walk.outcomes[:-1])


@given(begun_states(), st.data())
def test_a_unit_is_used_only_for_a_persona_response_that_the_server_paid(
    state: TurnState, data: st.DataObject
) -> None:
    end, finish, walk = walked(data, state)

    if end.course.reservation is None:
        assert finish.settle == Nothing()
        return
    last = walk.outcomes[-1] if walk.outcomes else None
    paid = (
        isinstance(last, Answered | Stopped | Interrupted)
        and bool(last.ran.reply_text)
        and end.attempt(last.ran.attempt_no).route is Route.SERVER
    )
    assert isinstance(finish.settle, Commit) == paid
    assert finish.settle != Nothing()


@given(begun_states(), st.data())
def test_every_outcome_with_a_key_is_booked(state: TurnState, data: st.DataObject) -> None:
    walk = Walk()
    for _ in range(MAX_STEPS):
        if isinstance(state.next_step(), Finish):
            return
        before = len(walk.outcomes)
        state = step_on(data, state, walk)
        if len(walk.outcomes) > before and walk.outcomes[-1].ran.lease is not None:
            assert state.booking is not None
