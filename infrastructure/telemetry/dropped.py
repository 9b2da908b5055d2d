"""How much telemetry was lost, since there was too much of it at once."""

from collections.abc import Callable, Iterable

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


class Dropped(Collector):
    """Shows a number as a counter."""

    def __init__(self, dropped: Callable[[], int]) -> None:
        self._dropped = dropped

    def collect(self) -> Iterable[CounterMetricFamily]:
        (shown,) = self.describe()
        shown.add_metric([], self._dropped())
        return (shown,)

    def describe(self) -> tuple[CounterMetricFamily]:
        return (
            CounterMetricFamily(
                "turnkeeper_telemetry_dropped", "Log lines and traces that were not written."
            ),
        )
