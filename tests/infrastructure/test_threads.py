import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from threading import Event, Thread, current_thread

import pytest

from turnkeeper.application.ports.runner import Cancelled, StillRunning, Stop
from turnkeeper.domain.errors import Closed
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadStop

WAIT_S = 10.0  # only ever waited out by a test that fails


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


def hangs_until(free: Event) -> str:
    assert free.wait(WAIT_S)
    return "freed"


def returns(value: int) -> Callable[[Stop], int]:
    return lambda stop: value


class TestThreadStop:
    def test_work_goes_on_until_it_is_stopped(self) -> None:
        stop = ThreadStop()
        stop.check()

        stop.set()

        assert stop.is_set
        with pytest.raises(Cancelled):
            stop.check()

    def test_a_stop_wakes_all_that_registered(self) -> None:
        woken: list[str] = []
        stop = ThreadStop()
        stop.on_stop(lambda: woken.append("read"))
        stop.on_stop(lambda: woken.append("wait"))

        stop.set()

        assert sorted(woken) == ["read", "wait"]

    def test_each_wake_runs_once_however_often_it_is_stopped(self) -> None:
        woken: list[str] = []
        stop = ThreadStop()
        stop.on_stop(lambda: woken.append("read"))

        stop.set()
        stop.set()

        assert woken == ["read"]

    def test_a_wake_that_is_registered_too_late_runs_at_once(self) -> None:
        woken: list[str] = []
        stop = ThreadStop()
        stop.set()

        stop.on_stop(lambda: woken.append("read"))

        assert woken == ["read"]

    def test_an_unregistered_wake_does_not_run(self) -> None:
        woken: list[str] = []
        stop = ThreadStop()
        forget = stop.on_stop(lambda: woken.append("read"))

        forget()
        forget()
        stop.set()

        assert woken == []

    def test_the_same_wake_registered_twice_is_unregistered_one_by_one(self) -> None:
        woken: list[str] = []

        def wake() -> None:
            woken.append("read")

        stop = ThreadStop()
        stop.on_stop(wake)
        forget = stop.on_stop(wake)

        forget()
        stop.set()

        assert woken == ["read"]

    def test_a_wake_that_raises_does_not_keep_the_others_asleep(self) -> None:
        woken: list[str] = []

        def breaks() -> None:
            raise OSError("already closed")

        stop = ThreadStop()
        stop.on_stop(breaks)
        stop.on_stop(lambda: woken.append("read"))
        stop.on_stop(breaks)

        stop.set()

        assert woken == ["read"]

    def test_of_stops_and_registrations_at_the_same_time_no_wake_is_lost(self) -> None:
        for _ in range(200):
            stop, woken, start = ThreadStop(), [Event() for _ in range(3)], threading.Barrier(4)

            def register(mine: Event, stop: ThreadStop = stop, start: object = start) -> None:
                assert isinstance(start, threading.Barrier)
                start.wait(WAIT_S)
                stop.on_stop(mine.set)

            threads = [Thread(target=register, args=(mine,)) for mine in woken]
            for thread in threads:
                thread.start()
            start.wait(WAIT_S)
            stop.set()
            for thread in threads:
                thread.join(WAIT_S)

            assert all(mine.is_set() for mine in woken)


class TestWork:
    def test_its_result_is_what_the_work_returned_each_time(self, runner: ThreadRunner) -> None:
        work = runner.start(lambda stop: 42, "answer")

        assert (work.result(WAIT_S), work.result(0), work.result(None)) == (42, 42, 42)

    def test_its_exception_is_raised_at_the_caller(self, runner: ThreadRunner) -> None:
        def breaks(stop: Stop) -> None:
            raise LookupError("no such key")

        with pytest.raises(LookupError, match="no such key"):
            runner.start(breaks, "broken").result(WAIT_S)

    def test_even_an_exit_of_the_work_ends_only_the_work(self, runner: ThreadRunner) -> None:
        def leaves(stop: Stop) -> None:
            raise SystemExit(3)

        with pytest.raises(SystemExit):
            runner.start(leaves, "leaving").result(WAIT_S)

        assert runner.start(lambda stop: "next", "next").result(WAIT_S) == "next"

    @pytest.mark.parametrize("timeout_s", [0.0, 0.001, -1.0])
    def test_running_longer_than_the_wait_is_still_running(
        self, runner: ThreadRunner, timeout_s: float
    ) -> None:
        free = Event()
        work = runner.start(lambda stop: hangs_until(free), "slow")

        with pytest.raises(StillRunning, match="slow is still running"):
            work.result(timeout_s)

        assert not work.done
        free.set()
        work.result(WAIT_S)
        assert work.done

    def test_a_wait_for_ever_may_be_given_as_infinite_seconds(self, runner: ThreadRunner) -> None:
        free = Event()
        work = runner.start(lambda stop: hangs_until(free), "slow")

        free.set()

        assert work.result(float("inf")) == "freed"

    def test_several_waiters_all_get_the_result(self, runner: ThreadRunner) -> None:
        free, results = Event(), []
        work = runner.start(lambda stop: hangs_until(free), "shared")
        waiters = [
            Thread(target=lambda: results.append(work.result(WAIT_S)), daemon=True)
            for _ in range(5)
        ]
        for waiter in waiters:
            waiter.start()

        free.set()
        for waiter in waiters:
            waiter.join(WAIT_S)

        assert results == ["freed"] * 5

    def test_abandoned_work_that_settles_in_time_shows_its_real_outcome(
        self, runner: ThreadRunner
    ) -> None:
        def waits(stop: Stop) -> str:
            woken = Event()
            stop.on_stop(woken.set)
            assert woken.wait(WAIT_S)
            return "settled"

        work = runner.start(waits, "stream")

        assert work.abandon(WAIT_S)
        assert work.result(0) == "settled"

    def test_work_that_checks_its_stop_is_cancelled(self, runner: ThreadRunner) -> None:
        asked = Event()

        def checks(stop: Stop) -> None:
            assert asked.wait(WAIT_S)
            stop.check()

        work = runner.start(checks, "stream")
        work.abandon(0)
        asked.set()

        with pytest.raises(Cancelled):
            work.result(WAIT_S)

    def test_abandoning_without_a_wait_leaves_a_hung_work_behind(
        self, runner: ThreadRunner
    ) -> None:
        free = Event()
        work = runner.start(lambda stop: hangs_until(free), "hung")

        assert not work.abandon(0)
        assert not work.abandon(0.001)
        assert runner.running == 1

        free.set()
        work.result(WAIT_S)
        assert runner.running == 0

    def test_abandoning_ended_work_leaves_it_as_it_is(self, runner: ThreadRunner) -> None:
        work = runner.start(lambda stop: stop, "quick")
        stop = work.result(WAIT_S)

        assert work.abandon(0)
        assert not stop.is_set


class TestThreadRunner:
    def test_a_thread_is_used_again(self, runner: ThreadRunner) -> None:
        threads = {
            runner.start(lambda stop: current_thread(), "work").result(WAIT_S) for _ in range(50)
        }

        assert len(threads) == 1

    def test_work_never_waits_behind_work_that_hangs(self, runner: ThreadRunner) -> None:
        free = Event()
        hung = [runner.start(lambda stop: hangs_until(free), "hung") for _ in range(20)]

        assert runner.start(lambda stop: "ran", "quick").result(WAIT_S) == "ran"

        free.set()
        for work in hung:
            work.result(WAIT_S)

    def test_as_many_works_run_at_once_as_are_started(self, runner: ThreadRunner) -> None:
        meeting = threading.Barrier(32)

        works = [runner.start(lambda stop: meeting.wait(WAIT_S), "party") for _ in range(32)]

        assert sorted(work.result(WAIT_S) for work in works) == list(range(32))

    def test_its_threads_are_daemons_named_for_their_work(self, runner: ThreadRunner) -> None:
        thread, name = runner.start(
            lambda stop: (current_thread(), current_thread().name), "stream 7"
        ).result(WAIT_S)

        assert (name, thread.daemon) == ("turnkeeper-stream 7", True)

    def test_the_work_sees_its_callers_context_variables(self, runner: ThreadRunner) -> None:
        turn: ContextVar[str] = ContextVar("turn", default="none")

        def changes(stop: Stop) -> str:
            seen = turn.get()
            turn.set("changed by the work")
            return seen

        token = turn.set("turn 7")
        seen = runner.start(changes, "work").result(WAIT_S)
        after = turn.get()
        turn.reset(token)

        assert (seen, after) == ("turn 7", "turn 7")
        assert runner.start(lambda stop: turn.get(), "work").result(WAIT_S) == "none"

    def test_an_idle_thread_ends_after_its_limit(self) -> None:
        runner = ThreadRunner(idle_limit_s=0.0)

        thread = runner.start(lambda stop: current_thread(), "work").result(WAIT_S)
        thread.join(WAIT_S)

        assert not thread.is_alive()
        assert runner.start(lambda stop: "again", "work").result(WAIT_S) == "again"

    def test_no_work_is_lost_while_threads_end(self) -> None:
        runner = ThreadRunner(idle_limit_s=0.0)

        results = [runner.start(returns(n), "work").result(WAIT_S) for n in range(500)]

        assert results == list(range(500))

    def test_an_idle_thread_keeps_nothing_of_its_last_work_alive(
        self, runner: ThreadRunner
    ) -> None:
        class Reply:
            pass

        work = runner.start(lambda stop: Reply(), "work")
        reply = weakref.ref(work.result(WAIT_S))

        del work
        gc.collect()
        # The thread drops its own reference on its way to the next work.
        runner.start(lambda stop: None, "next").result(WAIT_S)

        assert reply() is None

    def test_closing_stops_all_work_and_waits_for_it(self) -> None:
        runner, woken = ThreadRunner(), Event()

        def waits(stop: Stop) -> None:
            stop.on_stop(woken.set)
            assert woken.wait(WAIT_S)

        work = runner.start(waits, "stream")
        runner.close()

        assert (work.done, runner.running) == (True, 0)

    def test_closing_does_not_wait_for_what_hangs(self) -> None:
        runner, free = ThreadRunner(settle_s=0.0), Event()
        work = runner.start(lambda stop: hangs_until(free), "hung")

        runner.close()

        assert (work.done, runner.running) == (False, 1)
        free.set()
        work.result(WAIT_S)

    def test_closing_ends_idle_threads(self) -> None:
        runner = ThreadRunner()
        thread = runner.start(lambda stop: current_thread(), "work").result(WAIT_S)

        runner.close()
        runner.close()
        thread.join(WAIT_S)

        assert not thread.is_alive()

    def test_a_closed_runner_takes_no_work(self) -> None:
        runner = ThreadRunner()
        runner.close()

        with pytest.raises(Closed, match="late was not started"):
            runner.start(lambda stop: None, "late")

    def test_starts_from_many_threads_are_all_run(self, runner: ThreadRunner) -> None:
        totals: list[int] = []

        def starts_many() -> None:
            totals.append(sum(runner.start(returns(n), "work").result(WAIT_S) for n in range(200)))

        starters = [Thread(target=starts_many) for _ in range(8)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join(WAIT_S)

        assert (totals, runner.running) == ([19900] * 8, 0)


class TestWorkThatItsCallerDoes:
    def test_it_runs_on_its_callers_thread(self, runner: ThreadRunner) -> None:
        own = runner.here(lambda stop: current_thread(), never, first_look_s=1.0)

        own.run()

        assert (own.done, own.result(0)) == (True, current_thread())

    def test_what_it_raises_is_kept_for_its_result(self, runner: ThreadRunner) -> None:
        def fails(stop: Stop) -> None:
            raise ValueError("no")

        own = runner.here(fails, never, first_look_s=1.0)
        own.run()

        with pytest.raises(ValueError, match="no"):
            own.result(0)

    def test_an_interrupt_goes_to_its_caller_at_once(self, runner: ThreadRunner) -> None:
        def is_interrupted(stop: Stop) -> None:
            raise KeyboardInterrupt

        own = runner.here(is_interrupted, never, first_look_s=1.0)

        with pytest.raises(KeyboardInterrupt):
            own.run()
        assert runner.running == 0

    def test_another_thread_looks_and_stops_it(self, runner: ThreadRunner) -> None:
        lookers: list[Thread] = []

        def look(stop: Callable[[], None]) -> float:
            lookers.append(current_thread())
            if len(lookers) == 3:
                stop()
            return 0.01

        own = runner.here(waits_for_its_stop, look, first_look_s=0.01)
        own.run()

        assert own.result(0) == "stopped"
        assert current_thread() not in lookers

    def test_one_that_needs_an_early_look_gets_it_beside_others(self, runner: ThreadRunner) -> None:
        begun, looks = Event(), Event()

        def long_look(stop: Callable[[], None]) -> float:
            begun.set()
            return 3600.0

        other = runner.start(
            lambda stop: runner.here(waits_for_its_stop, long_look, first_look_s=3600.0).run(),
            "other",
        )
        assert begun.wait(WAIT_S)

        def look(stop: Callable[[], None]) -> float:
            looks.set()
            stop()
            return 0.01

        own = runner.here(waits_for_its_stop, look, first_look_s=0.001)
        own.run()
        runner.close()  # which stops the other

        assert looks.is_set()
        other.result(WAIT_S)

    def test_a_look_that_fails_does_not_keep_it_from_others(self, runner: ThreadRunner) -> None:
        def bad(stop: Callable[[], None]) -> float:
            raise ValueError("no")

        def good(stop: Callable[[], None]) -> float:
            stop()
            return 0.01

        other = runner.start(
            lambda stop: runner.here(waits_for_its_stop, bad, first_look_s=0.0).run(), "other"
        )
        own = runner.here(waits_for_its_stop, good, first_look_s=0.0)
        own.run()
        runner.close()

        assert own.result(0) == "stopped"
        other.result(WAIT_S)

    def test_abandoning_it_stops_it_and_waits_for_nothing(self, runner: ThreadRunner) -> None:
        own = runner.here(waits_for_its_stop, never, first_look_s=1.0)

        assert not own.abandon(WAIT_S)
        with pytest.raises(StillRunning):
            own.result(None)
        own.run()

        assert own.abandon(0)
        assert own.result(0) == "stopped"

    def test_all_are_looked_after_by_one_thread_which_goes_when_nothing_is_left(self) -> None:
        runner, lookers = ThreadRunner(idle_limit_s=0.0), set()

        def look(stop: Callable[[], None]) -> float:
            lookers.add(current_thread())
            stop()
            return 0.01

        works = [
            runner.start(
                lambda stop: runner.here(waits_for_its_stop, look, first_look_s=0.0).run(), "one"
            )
            for _ in range(20)
        ]
        for work in works:
            work.result(WAIT_S)
        for thread in lookers:
            thread.join(WAIT_S)

        assert not any(thread.is_alive() for thread in lookers)
        again = runner.here(waits_for_its_stop, look, first_look_s=0.0)
        again.run()
        assert again.result(0) == "stopped"

    def test_a_closed_runner_begins_none(self) -> None:
        runner = ThreadRunner()
        runner.close()

        with pytest.raises(Closed):
            runner.here(waits_for_its_stop, never, first_look_s=1.0)


def never(stop: Callable[[], None]) -> float:
    """Look after it, and find nothing."""
    return 3600.0


def waits_for_its_stop(stop: Stop) -> str:
    woken = Event()
    stop.on_stop(woken.set)
    assert woken.wait(WAIT_S)
    return "stopped"
