"""One fact for each rule of `TurnState.next_step`, and one for each step, answer and outcome."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders import (
    NOON,
    Outcomes,
    a_delivery,
    a_lease,
    a_plan,
    an_attempt,
    an_endpoint,
    prepared,
    when_ready,
)

from turnkeeper.domain.adjust import AsIs, CapOutput, Repeat, Shrink, WithoutMedia
from turnkeeper.domain.admission import Granted, RefusalKind, Refused, Reservation
from turnkeeper.domain.answers import (
    Heard,
    Leased,
    NoKey,
    RouteFailed,
    RouteOpened,
    RouteRefused,
    RouteWithheld,
    Signal,
    Unpreparable,
    Waited,
)
from turnkeeper.domain.failure import CooldownScope, FailureKind, KeyErrorClass
from turnkeeper.domain.finish import Commit, Finish, Nothing, Release, Say
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Origin, Stopped, TimedOut, TimeoutPhase, TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Plan, ServerRoute, Slot
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.rotation import BookError, BookNeutral, BookSuccess, KeyId
from turnkeeper.domain.steps import (
    KEY_RESTS,
    NOTHING_CAME,
    LeaseKey,
    OpenServerRoute,
    Prepare,
    RunInvocation,
    TurnState,
    Wait,
)

RESERVATION = Reservation(server_id="guild", trigger_key="t1", holder="turn")


def begun(count: int = 1, **more: object) -> TurnState:
    return TurnState.begin(a_plan(count), **more)  # type: ignore[arg-type]


def personal(count: int = 1, **more: object) -> TurnState:
    plan = a_plan(count, route=Route.PERSONAL, server_route=ServerRoute.MAY_OPEN)
    return TurnState.begin(plan, **more)  # type: ignore[arg-type]


def finish_of(state: TurnState) -> Finish:
    step = state.next_step()
    assert isinstance(step, Finish), step
    return step


def no_key(state: TurnState, *, in_s: float | None = None) -> TurnState:
    step = state.next_step()
    assert isinstance(step, LeaseKey)
    next_at_s = None if in_s is None else 100.0 + in_s
    return state.told(NoKey(attempt_no=step.attempt_no, next_at_s=next_at_s, now_s=100.0))


def opened(state: TurnState, count: int = 1, reservation: Reservation | None = None) -> TurnState:
    step = state.next_step()
    assert isinstance(step, OpenServerRoute)
    attempts = tuple(
        an_attempt(step.start_no + n, route=Route.SERVER, is_lead=n == 0) for n in range(count)
    )
    return state.told(RouteOpened(attempts=attempts, reservation=reservation))


class TestTheWayToAnInvocation:
    def test_an_attempt_is_prepared_first(self) -> None:
        assert begun().next_step() == Prepare(attempt_no=0)

    def test_then_a_key_is_leased(self) -> None:
        state = begun().told(prepared(0))

        assert state.next_step() == LeaseKey(attempt_no=0, without=frozenset())

    def test_then_it_runs(self) -> None:
        ready = prepared(0)
        state = begun().told(ready).told(Leased(attempt_no=0, lease=a_lease(7)))

        assert state.next_step() == RunInvocation(attempt_no=0, lease=a_lease(7), prepared=ready)

    def test_an_endpoint_without_authentication_needs_no_key(self) -> None:
        attempt = an_attempt(0, endpoint=an_endpoint(requires_auth=False))
        state = TurnState.begin(Plan(route=Route.SERVER, attempts=(attempt,)))

        assert state.told(prepared(0)).next_step() == RunInvocation(
            attempt_no=0, lease=None, prepared=prepared(0)
        )

    def test_another_may_answer_while_models_are_left(self) -> None:
        step = when_ready(begun(2)).next_step()

        assert isinstance(step, RunInvocation)
        assert step.another_may_answer

    def test_none_may_answer_on_the_last_model(self) -> None:
        step = when_ready(begun(1)).next_step()

        assert isinstance(step, RunInvocation)
        assert not step.another_may_answer

    def test_the_server_route_counts_as_another_that_may_answer(self) -> None:
        step = when_ready(personal(1)).next_step()

        assert isinstance(step, RunInvocation)
        assert step.another_may_answer


class TestEndings:
    def test_an_answer_completes_the_turn(self) -> None:
        state = when_ready(begun())
        outcome = Outcomes(state).answered()

        finish = finish_of(state.after(outcome))

        assert finish == Finish(status=TurnStatus.COMPLETED, last_ran=outcome, winner=an_attempt(0))

    def test_a_stop_ends_the_turn_without_fallback(self) -> None:
        state = when_ready(begun(2))

        finish = finish_of(state.after(Outcomes(state).stopped()))

        assert (finish.status, finish.say) == (TurnStatus.STOPPED_BY_USER, Say.NOBODY)

    def test_a_follow_up_ends_the_turn_without_fallback(self) -> None:
        state = when_ready(begun(2))

        assert finish_of(state.after(Outcomes(state).interrupted())).status is (
            TurnStatus.FOLLOW_UP_INTERRUPT
        )

    def test_an_unreachable_destination_ends_the_turn_without_fallback(self) -> None:
        state = when_ready(begun(2))

        finish = finish_of(state.after(Outcomes(state).unreachable()))

        assert (finish.status, finish.say) == (TurnStatus.SKIPPED, Say.NOBODY)

    def test_a_plan_without_attempts_and_causes_is_skipped(self) -> None:
        assert finish_of(begun(0)).status is TurnStatus.SKIPPED

    def test_a_plan_left_empty_with_causes_is_an_error(self) -> None:
        state = begun().told(Unpreparable(attempt_no=0, cause="no such provider"))

        finish = finish_of(state)

        assert (finish.status, finish.say) == (TurnStatus.ERROR, Say.PERSON)
        assert finish.failures[0].failure.message == "no such provider"

    def test_a_refused_admission_of_the_planned_route_skips_the_turn(self) -> None:
        refusal = Refused(kind=RefusalKind.COOLDOWN)

        finish = finish_of(begun(2, admission=refusal))

        assert (finish.status, finish.refusal) == (TurnStatus.SKIPPED, refusal)

    def test_a_crash_takes_the_way_of_a_failure(self) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).crashed()).next_step() == Prepare(attempt_no=1)

    def test_a_crash_of_the_last_is_an_error(self) -> None:
        state = when_ready(begun())

        assert finish_of(state.after(Outcomes(state).crashed())).status is TurnStatus.ERROR

    @pytest.mark.parametrize(
        ("audience", "say"),
        [
            (Audience.PERSON, Say.PERSON),
            (Audience.NOBODY, Say.NOBODY),
            (Audience.CALLER, Say.RAISE),
        ],
    )
    def test_a_failure_is_said_to_whom_the_audience_says(
        self, audience: Audience, say: Say
    ) -> None:
        state = when_ready(begun(audience=audience))

        assert finish_of(state.after(Outcomes(state).failed(FailureKind.OVERLOADED))).say is say

    def test_the_total_limit_of_the_turn_ends_it(self) -> None:
        state = when_ready(begun(3))

        finish = finish_of(state.after(Outcomes(state).timed_out(TimeoutPhase.TURN)))

        assert finish.status is TurnStatus.TIMEOUT

    def test_endless_tool_calls_open_no_second_model(self) -> None:
        state = when_ready(begun(3))

        after = state.after(Outcomes(state).failed(FailureKind.TOOLS_EXHAUSTED))

        assert finish_of(after).status is TurnStatus.ERROR


class TestSignals:
    @pytest.mark.parametrize(
        ("signal", "status"),
        [
            (Signal.STOP_REQUESTED, TurnStatus.STOPPED_BY_USER),
            (Signal.FOLLOW_UP_REQUESTED, TurnStatus.FOLLOW_UP_INTERRUPT),
            (Signal.DEADLINE_PASSED, TurnStatus.TIMEOUT),
        ],
    )
    def test_a_signal_between_attempts_ends_the_turn(
        self, signal: Signal, status: TurnStatus
    ) -> None:
        state = when_ready(begun(2))
        failed = state.after(Outcomes(state).failed(FailureKind.OVERLOADED))

        assert finish_of(failed.told(Heard(signal))).status is status

    def test_a_stop_after_the_answer_holds_the_notice_back(self) -> None:
        state = when_ready(begun(2))
        state = when_ready(state.after(Outcomes(state).failed(FailureKind.OVERLOADED)))
        answered = state.after(Outcomes(state).answered())

        finish = finish_of(answered.told(Heard(Signal.STOP_REQUESTED)))

        assert (finish.status, finish.notice) == (TurnStatus.COMPLETED, None)


class TestOtherKeys:
    @pytest.mark.parametrize(
        "kind",
        [
            FailureKind.RATE_LIMIT,
            FailureKind.AUTH,
            FailureKind.QUOTA,
            FailureKind.SERVER_ERROR,
            FailureKind.NETWORK,
            FailureKind.PERMISSION,
        ],
    )
    def test_a_failed_key_gives_way_to_the_next(self, kind: FailureKind) -> None:
        state = when_ready(begun(2), lease=a_lease(1))

        after = state.after(Outcomes(state).failed(kind))

        assert after.next_step() == LeaseKey(attempt_no=0, without=frozenset({KeyId(1)}))

    @pytest.mark.parametrize(
        "kind",
        [
            FailureKind.OVERLOADED,
            FailureKind.MODEL_NOT_FOUND,
            FailureKind.CONTENT_FILTER,
            FailureKind.BAD_REQUEST,
            FailureKind.CAPABILITY,
        ],
    )
    def test_what_is_no_fault_of_the_key_gives_way_to_the_next_model(
        self, kind: FailureKind
    ) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).failed(kind)).next_step() == Prepare(attempt_no=1)

    def test_a_time_out_gives_way_to_the_next_model(self) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).timed_out()).next_step() == Prepare(attempt_no=1)

    def test_a_refused_permission_tries_one_other_key(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        state = when_ready(state.after(Outcomes(state).failed(FailureKind.PERMISSION)))

        after = state.after(Outcomes(state).failed(FailureKind.PERMISSION))

        assert after.next_step() == Prepare(attempt_no=1)

    def test_at_most_three_keys_are_tried_for_an_attempt(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        for key in (2, 3):
            failed = state.after(Outcomes(state).failed(FailureKind.AUTH))
            state = when_ready(failed, lease=a_lease(key))

        after = state.after(Outcomes(state).failed(FailureKind.AUTH))

        assert after.next_step() == Prepare(attempt_no=1)

    def test_a_new_attempt_may_use_the_keys_of_the_one_before(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        state = state.after(Outcomes(state).failed(FailureKind.OVERLOADED)).told(prepared(1))

        assert state.next_step() == LeaseKey(attempt_no=1, without=frozenset())

    def test_no_key_at_all_is_a_failure_with_its_cause(self) -> None:
        state = no_key(begun().told(prepared(0)), in_s=60.0)

        finish = finish_of(state)

        assert finish.failures[0].failure.kind is FailureKind.NO_KEY
        assert finish.failures[0].failure.message == "all keys rest; the first is back in 60 s"

    def test_no_key_gives_way_to_the_next_model(self) -> None:
        assert no_key(begun(2).told(prepared(0))).next_step() == Prepare(attempt_no=1)


class TestTheSameKey:
    def test_a_server_error_with_no_other_key_is_repeated_once(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))
        state = no_key(state.after(Outcomes(state).failed(FailureKind.SERVER_ERROR)))

        assert state.next_step() == RunInvocation(
            attempt_no=0, lease=a_lease(1), prepared=prepared(0), adjust=Repeat()
        )

        again = no_key(state.after(Outcomes(state).failed(FailureKind.SERVER_ERROR)))

        assert finish_of(again).status is TurnStatus.ERROR

    def test_it_is_not_repeated_where_something_was_posted(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))
        posted = (a_delivery("m1"),)

        failed = state.after(Outcomes(state).failed(FailureKind.NETWORK, posted=posted))

        assert finish_of(no_key(failed)).status is TurnStatus.ERROR

    def test_a_request_without_a_key_is_repeated_once(self) -> None:
        attempt = an_attempt(0, endpoint=an_endpoint(requires_auth=False))
        state = TurnState.begin(Plan(route=Route.SERVER, attempts=(attempt,))).told(prepared(0))

        once = state.after(Outcomes(state).failed(FailureKind.NETWORK))
        step = once.next_step()
        twice = once.after(Outcomes(once).failed(FailureKind.NETWORK))

        assert isinstance(step, RunInvocation)
        assert step.adjust == Repeat()
        assert finish_of(twice).status is TurnStatus.ERROR

    def test_a_limit_that_passes_soon_is_waited_out_once(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))
        limited = state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT, retry_after_s=2.0))
        waiting = no_key(limited, in_s=2.0)

        assert waiting.next_step() == Wait(attempt_no=0, until_s=102.0, why=KEY_RESTS)

        back = waiting.told(Waited())

        assert back.next_step() == LeaseKey(attempt_no=0, without=frozenset())

        later = a_lease(1, leased_at=NOON + timedelta(seconds=2))
        again = back.told(Leased(attempt_no=0, lease=later))
        limited = again.after(Outcomes(again).failed(FailureKind.RATE_LIMIT, retry_after_s=2.0))

        assert finish_of(no_key(limited, in_s=2.0)).status is TurnStatus.ERROR

    def test_a_long_wait_is_not_waited_out(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        limited = state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT))

        assert no_key(limited, in_s=3.1).next_step() == Prepare(attempt_no=1)

    def test_after_a_wait_a_refused_key_is_still_left_out(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))
        state = when_ready(state.after(Outcomes(state).failed(FailureKind.AUTH)), lease=a_lease(2))
        limited = state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT))

        back = no_key(limited, in_s=1.0).told(Waited())

        assert back.next_step() == LeaseKey(attempt_no=0, without=frozenset({KeyId(1)}))

    def test_a_key_that_comes_back_soon_is_waited_for_at_the_start(self) -> None:
        state = no_key(begun().told(prepared(0)), in_s=1.0)

        assert state.next_step() == Wait(attempt_no=0, until_s=101.0, why=KEY_RESTS)

    def test_a_balance_that_pays_for_less_is_used_once(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))

        capped = state.after(Outcomes(state).failed(FailureKind.QUOTA, affordable_tokens=900))
        step = capped.next_step()

        assert isinstance(step, RunInvocation)
        assert step.adjust == CapOutput(tokens=900)

        after = capped.after(Outcomes(capped).failed(FailureKind.QUOTA, affordable_tokens=900))

        assert after.next_step() == LeaseKey(attempt_no=0, without=frozenset({KeyId(1)}))

    def test_a_balance_that_pays_for_next_to_nothing_is_no_balance(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))

        after = state.after(Outcomes(state).failed(FailureKind.QUOTA, affordable_tokens=20))

        assert after.next_step() == LeaseKey(attempt_no=0, without=frozenset({KeyId(1)}))

    def test_a_model_that_cannot_see_is_asked_once_without_the_media(self) -> None:
        state = when_ready(begun(2), has_media=True)

        blind = state.after(Outcomes(state).failed(FailureKind.CAPABILITY))
        step = blind.next_step()

        assert isinstance(step, RunInvocation)
        assert step.adjust == WithoutMedia()
        assert blind.after(Outcomes(blind).failed(FailureKind.CAPABILITY)).next_step() == Prepare(
            attempt_no=1
        )

    def test_a_prompt_too_long_is_shrunk_once_while_another_model_remains(self) -> None:
        state = when_ready(begun(2), input_tokens=10_000)

        shrunk = state.after(Outcomes(state).failed(FailureKind.CONTEXT_TOO_LONG))
        step = shrunk.next_step()

        assert isinstance(step, RunInvocation)
        assert step.adjust == Shrink(to_tokens=7_000)
        again = shrunk.after(Outcomes(shrunk).failed(FailureKind.CONTEXT_TOO_LONG))
        assert again.next_step() == Prepare(attempt_no=1)

    def test_on_the_last_model_it_is_shrunk_three_times_each_smaller(self) -> None:
        state = when_ready(begun(), input_tokens=10_000)
        sizes = []
        for _ in range(3):
            state = state.after(Outcomes(state).failed(FailureKind.CONTEXT_TOO_LONG))
            step = state.next_step()
            assert isinstance(step, RunInvocation)
            assert isinstance(step.adjust, Shrink)
            sizes.append(step.adjust.to_tokens)

        state = state.after(Outcomes(state).failed(FailureKind.CONTEXT_TOO_LONG))

        assert sizes == [7_000, 4_900, 3_430]
        assert finish_of(state).status is TurnStatus.ERROR

    def test_the_numbers_that_a_message_states_are_used(self) -> None:
        state = when_ready(begun(), input_tokens=10_000)

        shrunk = state.after(
            Outcomes(state).failed(
                FailureKind.CONTEXT_TOO_LONG, limit_tokens=1_000, requested_tokens=4_000
            )
        )
        step = shrunk.next_step()

        assert isinstance(step, RunInvocation)
        assert step.adjust == Shrink(to_tokens=2_375)

    def test_a_shrunk_prompt_stays_shrunk_with_the_next_key(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1), input_tokens=10_000)
        state = state.after(Outcomes(state).failed(FailureKind.CONTEXT_TOO_LONG))
        state = when_ready(
            state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT)), lease=a_lease(2)
        )
        step = state.next_step()

        assert isinstance(step, RunInvocation)
        assert (step.adjust, step.kept) == (AsIs(), (Shrink(to_tokens=7_000),))

    def test_what_one_change_has_mended_the_next_does_not_undo(self) -> None:
        state = when_ready(begun(2), input_tokens=10_000, has_media=True)
        state = state.after(Outcomes(state).failed(FailureKind.CAPABILITY))
        state = state.after(Outcomes(state).failed(FailureKind.CONTEXT_TOO_LONG))
        step = state.next_step()

        assert isinstance(step, RunInvocation)
        assert (step.adjust, step.kept) == (Shrink(to_tokens=7_000), (WithoutMedia(),))

    def test_a_cap_by_one_keys_balance_is_not_the_next_keys(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        state = state.after(Outcomes(state).failed(FailureKind.QUOTA, affordable_tokens=900))
        failed = state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT))
        step = when_ready(failed, lease=a_lease(2)).next_step()

        assert isinstance(step, RunInvocation)
        assert (step.adjust, step.kept) == (AsIs(), ())

    def test_a_malformed_tool_call_is_asked_for_once_more(self) -> None:
        state = when_ready(begun(2))

        again = state.after(Outcomes(state).failed(FailureKind.MALFORMED_TOOL_CALL))
        step = again.next_step()

        assert isinstance(step, RunInvocation)
        assert step.adjust == Repeat()
        after = again.after(Outcomes(again).failed(FailureKind.MALFORMED_TOOL_CALL))
        assert after.next_step() == Prepare(attempt_no=1)

    def test_same_key_repeats_never_exceed_six_invocations(self) -> None:
        state = when_ready(begun(), lease=a_lease(1), input_tokens=100_000, has_media=True)
        kinds = [
            FailureKind.CAPABILITY,
            FailureKind.MALFORMED_TOOL_CALL,
            FailureKind.CONTEXT_TOO_LONG,
            FailureKind.CONTEXT_TOO_LONG,
            FailureKind.CONTEXT_TOO_LONG,
        ]
        for kind in kinds:
            state = state.after(Outcomes(state).failed(kind))
            assert isinstance(state.next_step(), RunInvocation)

        state = state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT))

        assert finish_of(state).status is TurnStatus.ERROR


class TestContentFilter:
    def test_a_refused_content_stops_the_turn_where_the_server_is_set_so(self) -> None:
        policy = TurnPolicy(content_filter=ContentFilterPolicy.STOP)
        state = when_ready(personal(2, policy=policy))

        after = state.after(Outcomes(state).failed(FailureKind.CONTENT_FILTER))

        assert finish_of(after).status is TurnStatus.ERROR


class TestTakingBack:
    def test_what_a_failed_invocation_posted_goes_with_the_next_invocation(self) -> None:
        state = when_ready(begun(2))
        posted = (a_delivery("m1"), a_delivery("m2"))
        state = when_ready(state.after(Outcomes(state).timed_out(posted=posted)))

        step = state.next_step()

        assert isinstance(step, RunInvocation)
        assert step.take_back == posted

    def test_what_a_tool_posted_stays(self) -> None:
        state = when_ready(begun(2))
        posted = (a_delivery("m1", origin=Origin.TOOL), a_delivery("m2", origin=Origin.PROGRESS))
        state = when_ready(state.after(Outcomes(state).timed_out(posted=posted)))

        step = state.next_step()

        assert isinstance(step, RunInvocation)
        assert step.take_back == (posted[1],)

    def test_nothing_is_taken_back_when_the_next_lease_fails(self) -> None:
        state = when_ready(begun())
        posted = (a_delivery("m1"),)
        outcome = Outcomes(state).failed(FailureKind.RATE_LIMIT, posted=posted)

        finish = finish_of(no_key(state.after(outcome)))

        assert finish.last_ran == outcome

    def test_nothing_is_taken_back_when_the_next_preparation_fails(self) -> None:
        state = when_ready(begun(2))
        outcome = Outcomes(state).timed_out(posted=(a_delivery("m1"),))

        finish = finish_of(
            state.after(outcome).told(Unpreparable(attempt_no=1, cause="no such provider"))
        )

        assert (finish.status, finish.last_ran) == (TurnStatus.TIMEOUT, outcome)


class TestTheServerRoute:
    @pytest.mark.parametrize("end", ["failed", "timed_out", "crashed"])
    def test_it_is_asked_once_every_planned_attempt_has_failed(self, end: str) -> None:
        state = when_ready(personal(1))
        kind = (FailureKind.OVERLOADED,) if end == "failed" else ()

        after = state.after(getattr(Outcomes(state), end)(*kind))

        assert after.next_step() == OpenServerRoute(start_no=1)

    def test_it_is_not_asked_while_planned_attempts_are_left(self) -> None:
        state = when_ready(personal(2))

        after = state.after(Outcomes(state).failed(FailureKind.OVERLOADED))

        assert after.next_step() == Prepare(attempt_no=1)

    def test_an_empty_personal_plan_opens_it(self) -> None:
        assert personal(0).next_step() == OpenServerRoute(start_no=0)

    def test_a_personal_plan_whose_attempts_cannot_be_prepared_opens_it(self) -> None:
        state = personal(1).told(Unpreparable(attempt_no=0, cause="its endpoint is gone"))

        assert state.next_step() == OpenServerRoute(start_no=1)

    @pytest.mark.parametrize("end", ["stopped", "interrupted", "unreachable"])
    def test_it_is_never_asked_after_such_an_end(self, end: str) -> None:
        state = when_ready(personal(1))

        assert isinstance(state.after(getattr(Outcomes(state), end)()).next_step(), Finish)

    def test_an_empty_answer_does_not_open_it(self) -> None:
        state = when_ready(personal(1, policy=TurnPolicy(empty_retries=0)))

        finish = finish_of(state.after(Outcomes(state).empty()))

        assert finish.status is TurnStatus.EMPTY_RESPONSE

    def test_an_empty_answer_opens_it_where_it_is_set_so(self) -> None:
        policy = TurnPolicy(empty_opens_server_route=True)
        state = when_ready(personal(1, policy=policy))

        assert state.after(Outcomes(state).empty()).next_step() == OpenServerRoute(start_no=1)

    def test_a_withheld_route_is_not_asked(self) -> None:
        plan = a_plan(1, route=Route.PERSONAL, server_route=ServerRoute.OPTED_OUT)
        state = when_ready(TurnState.begin(plan))

        after = state.after(Outcomes(state).failed(FailureKind.OVERLOADED))

        assert finish_of(after).status is TurnStatus.ERROR

    def test_its_attempts_go_on_with_the_numbers(self) -> None:
        state = when_ready(personal(2))
        state = when_ready(state.after(Outcomes(state).timed_out()))
        state = opened(state.after(Outcomes(state).timed_out()), count=2)

        assert state.next_step() == Prepare(attempt_no=2)
        assert [attempt.number for attempt in state.plan.attempts] == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        "answer",
        [
            RouteRefused(kind=RefusalKind.COOLDOWN),
            RouteWithheld(reason=ServerRoute.MEMBER_KEYS_ONLY),
            RouteFailed(cause="the settings cannot be read"),
            RouteOpened(attempts=()),
        ],
        ids=lambda answer: type(answer).__name__,
    )
    def test_where_it_adds_nothing_the_personal_failure_is_the_outcome(
        self, answer: RouteRefused | RouteWithheld | RouteFailed | RouteOpened
    ) -> None:
        state = when_ready(personal(1))
        outcome = Outcomes(state).timed_out()

        finish = finish_of(state.after(outcome).told(answer))

        assert (finish.status, finish.last_ran, finish.say) == (
            TurnStatus.TIMEOUT,
            outcome,
            Say.PERSON,
        )

    def test_a_personal_time_out_is_said_though_the_server_could_not_be_prepared(self) -> None:
        state = when_ready(personal(1))
        outcome = Outcomes(state).timed_out()
        state = opened(state.after(outcome)).told(Unpreparable(attempt_no=1, cause="no provider"))

        finish = finish_of(state)

        assert (finish.status, finish.last_ran) == (TurnStatus.TIMEOUT, outcome)


class TestSettling:
    def test_a_unit_is_committed_by_a_server_paid_answer(self) -> None:
        state = when_ready(begun(admission=Granted(reservation=RESERVATION)))

        finish = finish_of(state.after(Outcomes(state).answered()))

        assert finish.settle == Commit(reservation=RESERVATION)

    @pytest.mark.parametrize("end", ["answered_by_tool", "unreachable", "stopped", "timed_out"])
    def test_a_unit_goes_back_without_a_persona_response(self, end: str) -> None:
        state = when_ready(begun(admission=Granted(reservation=RESERVATION)))

        finish = finish_of(state.after(getattr(Outcomes(state), end)()))

        assert finish.settle == Release(reservation=RESERVATION)

    def test_what_a_stop_leaves_on_screen_is_paid_for(self) -> None:
        state = when_ready(begun(admission=Granted(reservation=RESERVATION)))

        finish = finish_of(state.after(Outcomes(state).stopped("half an answer")))

        assert finish.settle == Commit(reservation=RESERVATION)

    def test_a_server_route_that_answers_is_charged(self) -> None:
        state = when_ready(personal(1))
        state = opened(state.after(Outcomes(state).timed_out()), reservation=RESERVATION)
        state = when_ready(state)

        finish = finish_of(state.after(Outcomes(state).answered()))

        assert finish.settle == Commit(reservation=RESERVATION)

    def test_a_server_route_that_fails_too_is_not(self) -> None:
        state = when_ready(personal(1))
        state = opened(state.after(Outcomes(state).timed_out()), reservation=RESERVATION)
        state = when_ready(state)

        finish = finish_of(state.after(Outcomes(state).timed_out()))

        assert finish.settle == Release(reservation=RESERVATION)

    def test_without_a_reservation_nothing_is_settled(self) -> None:
        state = when_ready(begun())

        assert finish_of(state.after(Outcomes(state).answered())).settle == Nothing()


class TestTheNotice:
    def fallen_back(self, state: TurnState) -> TurnState:
        ready = when_ready(state)
        return when_ready(ready.after(Outcomes(ready).failed(FailureKind.OVERLOADED)))

    def test_a_completed_fallback_is_noticed_with_its_slot_and_failures(self) -> None:
        state = self.fallen_back(begun(2))

        notice = finish_of(state.after(Outcomes(state).answered())).notice

        assert notice is not None
        assert (notice.slot, notice.model) == (Slot(number=1, is_lead=False), "model-1")
        assert [one.model for one in notice.failures] == ["model-0"]
        assert not notice.offers_opt_out

    def test_the_first_attempt_is_not_noticed_though_a_key_failed(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        state = when_ready(state.after(Outcomes(state).failed(FailureKind.AUTH)), lease=a_lease(2))

        assert finish_of(state.after(Outcomes(state).answered())).notice is None

    @pytest.mark.parametrize("audience", [Audience.NOBODY, Audience.CALLER])
    def test_hidden_turns_and_impersonation_get_none(self, audience: Audience) -> None:
        state = self.fallen_back(begun(2, audience=audience))

        assert finish_of(state.after(Outcomes(state).answered())).notice is None

    @pytest.mark.parametrize("end", ["stopped", "interrupted"])
    def test_a_stop_or_follow_up_gets_none(self, end: str) -> None:
        state = self.fallen_back(begun(2))

        assert finish_of(state.after(getattr(Outcomes(state), end)("text"))).notice is None

    def test_only_a_server_answer_to_a_personal_turn_offers_the_opt_out(self) -> None:
        state = when_ready(personal(1))
        state = when_ready(opened(state.after(Outcomes(state).timed_out())))

        notice = finish_of(state.after(Outcomes(state).answered())).notice

        assert notice is not None
        assert notice.offers_opt_out
        assert notice.slot == Slot(number=1, is_lead=True)

    def test_nor_does_it_speak_where_only_its_own_first_key_had_failed(self) -> None:
        state = when_ready(begun(2, resting=frozenset({0})), lease=a_lease(1))
        state = when_ready(state.after(Outcomes(state).failed(FailureKind.AUTH)), lease=a_lease(2))

        assert finish_of(state.after(Outcomes(state).answered())).notice is None

    def test_a_fallback_that_leads_because_the_primary_rests_is_silent(self) -> None:
        state = when_ready(begun(2, resting=frozenset({0})))

        assert finish_of(state.after(Outcomes(state).answered())).notice is None


class TestRestingModels:
    def test_a_resting_attempt_waits_behind_its_routes_others_and_keeps_its_number(self) -> None:
        state = begun(3, resting=frozenset({0}))
        numbers = []
        for _ in range(3):
            state = when_ready(state)
            outcome = Outcomes(state).timed_out()
            numbers.append(outcome.ran.attempt_no)
            state = state.after(outcome)

        assert numbers == [1, 2, 0]

    def test_a_resting_personal_attempt_stays_before_the_server_route(self) -> None:
        state = personal(1, resting=frozenset({0}))

        assert state.next_step() == Prepare(attempt_no=0)

    @pytest.mark.parametrize(
        ("end", "rest_s"), [("timed_out", 15.0), ("stopped", 0.0), ("crashed", 0.0)]
    )
    def test_a_time_out_lets_the_model_rest(self, end: str, rest_s: float) -> None:
        state = when_ready(begun(2))

        assert state.after(getattr(Outcomes(state), end)()).model_rest_s == rest_s

    def test_the_turns_own_limit_is_no_fault_of_the_model(self) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).timed_out(TimeoutPhase.TURN)).model_rest_s == 0.0

    def test_an_overloaded_model_rests(self) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).failed(FailureKind.OVERLOADED)).model_rest_s == 15.0


class TestEmptyAnswers:
    def test_an_empty_answer_tries_the_next_model(self) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).empty()).next_step() == Prepare(attempt_no=1)

    def test_it_stands_where_it_is_set_so(self) -> None:
        policy = TurnPolicy(empty_fails_over=False, empty_retries=0)
        state = when_ready(begun(2, policy=policy))

        finish = finish_of(state.after(Outcomes(state).empty()))

        assert finish.status is TurnStatus.EMPTY_RESPONSE

    def test_a_turn_that_ended_empty_is_run_again_twice_after_a_second(self) -> None:
        state = begun(1)
        waits = []
        for _ in range(2):
            ready = when_ready(state)
            ended = ready.after(Outcomes(ready).empty(at_s=50.0))
            waits.append(ended.next_step())
            state = ended.told(Waited())
        ready = when_ready(state)
        last = Outcomes(ready).empty()

        finish = finish_of(ready.after(last))

        assert waits == [Wait(attempt_no=0, until_s=51.0, why=NOTHING_CAME)] * 2
        assert (finish.status, ready.course.retries) == (TurnStatus.EMPTY_RESPONSE, 2)
        assert finish.say is Say.PERSON

    def test_a_stop_ends_the_retries(self) -> None:
        state = when_ready(begun(1))
        ended = state.after(Outcomes(state).empty())

        finish = finish_of(ended.told(Heard(Signal.STOP_REQUESTED)))

        assert finish.status is TurnStatus.STOPPED_BY_USER

    def test_keys_are_counted_anew_when_it_is_run_again(self) -> None:
        state = when_ready(begun(1), lease=a_lease(1))
        again = state.after(Outcomes(state).empty()).told(Waited()).told(prepared(0))

        assert again.next_step() == LeaseKey(attempt_no=0, without=frozenset())

    def test_a_server_route_that_was_opened_is_not_asked_again(self) -> None:
        policy = TurnPolicy(empty_opens_server_route=True)
        state = when_ready(personal(1, policy=policy))
        state = when_ready(opened(state.after(Outcomes(state).empty()), reservation=RESERVATION))
        state = state.after(Outcomes(state).empty()).told(Waited())
        for _ in range(2):
            state = when_ready(state)
            state = state.after(Outcomes(state).timed_out())

        finish = finish_of(state)

        assert finish.settle == Release(reservation=RESERVATION)


class TestBooking:
    @pytest.mark.parametrize("end", ["answered", "empty"])
    def test_success(self, end: str) -> None:
        state = when_ready(begun(2))

        assert state.after(getattr(Outcomes(state), end)()).booking == BookSuccess(model="model-0")

    @pytest.mark.parametrize(
        "end", ["stopped", "interrupted", "unreachable", "timed_out", "crashed"]
    )
    def test_neutral(self, end: str) -> None:
        state = when_ready(begun(2))

        assert state.after(getattr(Outcomes(state), end)()).booking == BookNeutral()

    @pytest.mark.parametrize(
        ("kind", "booked_as", "scope", "rest_s"),
        [
            (FailureKind.RATE_LIMIT, KeyErrorClass.RATE_LIMIT, CooldownScope.KEY, 60.0),
            (FailureKind.QUOTA, KeyErrorClass.RATE_LIMIT, CooldownScope.KEY, 21_600.0),
            (FailureKind.AUTH, KeyErrorClass.API_ERROR, CooldownScope.KEY_DISABLED, 0.0),
            (
                FailureKind.PERMISSION,
                KeyErrorClass.API_ERROR,
                CooldownScope.KEY_FOR_MODEL,
                300.0,
            ),
            (FailureKind.SERVER_ERROR, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
            (FailureKind.NETWORK, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
            (FailureKind.OVERLOADED, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
            (FailureKind.MODEL_NOT_FOUND, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
            (FailureKind.CONTENT_FILTER, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
            (FailureKind.BAD_REQUEST, KeyErrorClass.API_ERROR, CooldownScope.NOTHING, 0.0),
        ],
    )
    def test_error(
        self, kind: FailureKind, booked_as: KeyErrorClass, scope: CooldownScope, rest_s: float
    ) -> None:
        state = when_ready(begun(2))

        assert state.after(Outcomes(state).failed(kind)).booking == BookError(
            booked_as=booked_as,
            text=kind.value,
            scope=scope,
            rest_s=rest_s,
            model="model-0",
            spares_other_models=kind is FailureKind.RATE_LIMIT,
        )

    def test_the_hint_of_the_provider_is_the_rest(self) -> None:
        state = when_ready(begun(2))
        booking = state.after(
            Outcomes(state).failed(FailureKind.RATE_LIMIT, retry_after_s=7.5)
        ).booking

        assert isinstance(booking, BookError)
        assert booking.rest_s == 7.5

    def test_a_used_up_quota_never_rests_for_nothing(self) -> None:
        state = when_ready(begun(2))
        booking = state.after(Outcomes(state).failed(FailureKind.QUOTA, retry_after_s=0.0)).booking

        assert isinstance(booking, BookError)
        assert booking.rest_s == 21_600.0

    def test_the_last_key_is_booked_too(self) -> None:
        state = when_ready(begun(1))

        assert isinstance(
            state.after(Outcomes(state).failed(FailureKind.RATE_LIMIT)).booking, BookError
        )

    def test_a_key_that_is_used_again_at_once_is_not_cooled(self) -> None:
        state = when_ready(begun(1), lease=a_lease(1))
        again = state.after(Outcomes(state).failed(FailureKind.QUOTA, affordable_tokens=900))

        assert again.keeps_lease
        assert again.booking == BookError(
            booked_as=KeyErrorClass.RATE_LIMIT, text="quota", model="model-0"
        )

    def test_a_key_that_was_given_back_before_it_was_repeated_is_given_back_once(self) -> None:
        state = when_ready(begun(), lease=a_lease(1))
        failed = state.after(Outcomes(state).failed(FailureKind.SERVER_ERROR))
        again = no_key(failed)
        ended = again.after(Outcomes(again).answered())

        assert (failed.keeps_lease, ended.keeps_lease) == (False, True)

    def test_a_new_lease_is_given_back_again(self) -> None:
        state = when_ready(begun(2), lease=a_lease(1))
        again = no_key(state.after(Outcomes(state).failed(FailureKind.SERVER_ERROR)))
        ended = again.after(Outcomes(again).failed(FailureKind.OVERLOADED))
        state = when_ready(ended, lease=a_lease(2))

        assert not state.after(Outcomes(state).answered()).keeps_lease

    def test_nothing_is_booked_where_no_key_was_used(self) -> None:
        attempt = an_attempt(0, endpoint=an_endpoint(requires_auth=False))
        state = TurnState.begin(Plan(route=Route.SERVER, attempts=(attempt,))).told(prepared(0))

        assert state.after(Outcomes(state).answered()).booking is None


def test_the_same_state_always_gives_the_same_step() -> None:
    state = when_ready(begun(2))

    assert state.next_step() == replace(state).next_step()


def test_an_invocation_that_changes_nothing_says_so() -> None:
    step = when_ready(begun()).next_step()

    assert isinstance(step, RunInvocation)
    assert step.adjust == AsIs()


def test_a_stop_keeps_its_reason() -> None:
    state = when_ready(begun())
    last = finish_of(state.after(Outcomes(state).stopped())).last_ran

    assert isinstance(last, Stopped)


def test_a_time_out_keeps_its_phase() -> None:
    state = when_ready(begun())
    last = finish_of(state.after(Outcomes(state).timed_out(TimeoutPhase.FIRST_PROGRESS))).last_ran

    assert isinstance(last, TimedOut)
    assert last.phase is TimeoutPhase.FIRST_PROGRESS
