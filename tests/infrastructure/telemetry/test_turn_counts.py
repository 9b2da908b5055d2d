from typing import Any

import pytest
from builders import an_attempt, an_endpoint
from past_turns import answered, ended, failed, journal, ran, rescued, started
from prometheus_client import CollectorRegistry

from turnkeeper.application.sweep_report import SweepReport
from turnkeeper.domain import events
from turnkeeper.domain.events import Entry
from turnkeeper.domain.owner import Route
from turnkeeper.infrastructure.telemetry.label_names import LabelNames
from turnkeeper.infrastructure.telemetry.metrics import Metrics
from turnkeeper.infrastructure.telemetry.turn_counts import TurnCounts

MODEL_0 = {"provider": "wall", "model": "model-0"}
MODEL_1 = {"provider": "wall", "model": "model-1"}


class Counted:
    """What was counted, by name and labels."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.listen = TurnCounts(Metrics(self.registry))

    def hear(self, entries: tuple[Entry, ...]) -> "Counted":
        for entry in entries:
            self.listen(entry)
        return self

    def __call__(self, metric: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"turnkeeper_{metric}", labels)

    def labels(self) -> set[str]:
        """All values of all labels."""
        return {
            value
            for family in self.registry.collect()
            for sample in family.samples
            for value in sample.labels.values()
        }


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.mark.parametrize(
    ("metric", "labels", "value"),
    [
        ("turns_total", {"status": "completed", "route": "server"}, 1),
        ("turn_seconds_sum", {"status": "completed"}, 3.2),
        ("rescued_turns_total", {"by": "model"}, 1),
        ("invocations_total", {**MODEL_0, "outcome": "Failed"}, 1),
        ("invocations_total", {**MODEL_1, "outcome": "Answered"}, 1),
        ("failures_total", {**MODEL_0, "kind": "rate_limit"}, 1),
        ("first_progress_seconds_sum", MODEL_0, 0.2),
        ("tokens_total", {**MODEL_1, "direction": "input"}, 12),
        ("tokens_total", {**MODEL_1, "direction": "output"}, 34),
        ("messages_posted_total", {"origin": "stream"}, 1),
        ("messages_taken_back_total", {"late": "no"}, 1),
        ("quota_units_total", {"state": "reserved"}, 1),
        ("quota_units_total", {"state": "used"}, 1),
        ("tool_runs_total", {"state": "done", "replayed": "no"}, 1),
    ],
)
def test_a_rescued_turn_is_counted(
    counted: Counted, metric: str, labels: dict[str, str], value: float
) -> None:
    assert counted.hear(rescued())(metric, **labels) == pytest.approx(value)


@pytest.mark.parametrize(
    ("event", "metric", "labels"),
    [
        (events.MessageStuck(message_id="7", cause=""), "messages_stuck_total", {}),
        (events.TurnRefused(kind="cooldown", where="x"), "refusals_total", {"kind": "cooldown"}),
        (events.NoKeyLeft(attempt_no=0, next_in_s=None), "no_key_total", {"provider": "wall"}),
        (events.ModelRested(attempt_no=1, for_s=9, cause=""), "model_rests_total", MODEL_1),
        (events.ServerRouteAsked(answer="withheld"), "server_routes_total", {"answer": "withheld"}),
        (
            events.QuotaSettled(trigger_key="k", committed=False),
            "quota_units_total",
            {"state": "given_back"},
        ),
        (
            events.KeyBooked(
                attempt_no=0, invocation_no=0, key_id=1, booking="error", error_class="api_error"
            ),
            "key_bookings_total",
            {"provider": "wall", "booking": "error", "error_class": "api_error"},
        ),
        (
            events.EffectFailed(effect="ledger", cause=""),
            "effects_failed_total",
            {"effect": "ledger"},
        ),
        (events.EffectFailed(effect="own", cause=""), "effects_failed_total", {"effect": "other"}),
        (events.TurnSwept(by="b", silent_s=1, absent=2), "swept_turns_total", {}),
    ],
)
def test_what_may_happen_is_counted(
    counted: Counted, event: Any, metric: str, labels: dict[str, str]
) -> None:
    assert counted.hear(journal((0, started()), (1, event)))(metric, **labels) == 1


@pytest.mark.parametrize(
    ("second", "by"),
    [
        (ran(0, 1, key_id=1), "retry"),
        (ran(0, 1, key_id=2), "key"),
        (ran(1, 1, key_id=3), "model"),
        (ran(2, 1, key_id=4), "server_route"),
    ],
)
def test_a_rescue_is_counted_by_what_helped(
    counted: Counted, second: events.InvocationStarted, by: str
) -> None:
    opened = events.ServerRouteAsked(answer="opened", attempts=(an_attempt(2, route=Route.SERVER),))
    counted.hear(
        journal(
            (0, started(Route.PERSONAL, Route.PERSONAL, route=Route.PERSONAL)),
            (1, ran(0, 0, key_id=1)),
            (2, failed(0, 0)),
            (3, opened),
            (4, second),
            (5, answered(second.attempt_no, 1)),
            (6, ended()),
        )
    )

    assert counted("rescued_turns_total", by=by) == 1


def test_a_turn_that_nothing_rescued_is_no_rescue(counted: Counted) -> None:
    counted.hear(journal((0, started()), (1, ran(0, 0)), (2, failed(0, 0)), (3, ended("error"))))

    assert "rescued" not in counted.labels()
    assert counted("rescued_turns_total", by="retry") is None


def test_no_label_holds_an_id(counted: Counted) -> None:
    counted.hear(rescued(turn_id="turn-id"))

    assert counted.labels().isdisjoint({"turn-id", "t1", "m1", "trigger", "guild", "channel"})


def test_what_members_name_at_their_endpoints_is_other(counted: Counted) -> None:
    counted.hear(journal((0, started(endpoint=an_endpoint())), (1, ran(0, 0)), (2, answered(0, 0))))

    named = {"provider": "custom", "model": "other", "outcome": "Answered"}
    assert counted("invocations_total", **named) == 1


def test_no_more_models_than_allowed_have_a_label() -> None:
    names = LabelNames(max_models=2)

    said = [names.of(an_attempt(number))[1] for number in (0, 1, 2, 1)]

    assert said == ["model-0", "model-1", "other", "model-1"]


def test_an_event_of_an_unknown_turn_is_of_other_models(counted: Counted) -> None:
    counted.hear(journal((0, answered(0, 0))))

    named = {"provider": "other", "model": "other", "outcome": "Answered"}
    assert counted("invocations_total", **named) == 1


def test_sweeps_of_this_process_are_counted(counted: Counted) -> None:
    counted.listen.swept(SweepReport())

    assert counted("sweeps_total") == 1
