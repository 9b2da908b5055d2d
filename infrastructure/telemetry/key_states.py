"""How many saved keys are fit for use, looked up when Prometheus asks."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.errors import TurnkeeperError
from turnkeeper.domain.key_condition import KeyState, condition_of

STATES = {
    KeyState.FREE: "free",
    KeyState.RESTING: "resting",
    KeyState.PROBE_DUE: "to_be_probed",
    KeyState.PROBED: "being_probed",
    KeyState.REFUSED: "refused",
    KeyState.OFF: "switched_off",
    KeyState.SHUT: "unreadable",
}


class KeyStates(Collector):
    """Counts the keys by provider and state, and says whether the store answered.

    Args:
        keys: All saved keys.
        now: The time of day.
    """

    def __init__(
        self, keys: Callable[[], tuple[SavedKey, ...]], now: Callable[[], datetime]
    ) -> None:
        self._keys = keys
        self._now = now

    def collect(self) -> Iterable[GaugeMetricFamily]:
        states, is_up = self.describe()
        try:
            found = Counter((_family(one), _state(one, self._now())) for one in self._keys())
            is_up.add_metric([], 1)
        except TurnkeeperError:
            found = Counter()
            is_up.add_metric([], 0)
        for names, count in sorted(found.items()):
            states.add_metric(names, count)
        return states, is_up

    def describe(self) -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
        return (
            GaugeMetricFamily("turnkeeper_keys", "Saved keys.", labels=["provider", "state"]),
            GaugeMetricFamily("turnkeeper_store_up", "Whether the store answered."),
        )


def _family(saved: SavedKey) -> str:
    return saved.provider.partition(":")[0]


def _state(saved: SavedKey, now: datetime) -> str:
    return STATES[condition_of(saved.key, now, opens=saved.opens).state]
