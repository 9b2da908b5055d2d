"""Token measures in this process."""

from threading import Lock

from turnkeeper.application.ports.token_measures import TokenMeasure, TokenMeasures


class MemoryTokenMeasures(TokenMeasures):
    """Keeps them in a dict."""

    def __init__(self) -> None:
        self._lock = Lock()  # guards the dict
        self._measures: dict[tuple[str, str], TokenMeasure] = {}

    def load(self) -> tuple[TokenMeasure, ...]:
        with self._lock:
            return tuple(self._measures[key] for key in sorted(self._measures))

    def save(self, measures: tuple[TokenMeasure, ...]) -> None:
        with self._lock:
            for measure in measures:
                self._measures[measure.provider, measure.model] = measure
