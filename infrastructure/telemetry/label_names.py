"""The names of providers and models as labels: few, whatever members set up."""

from threading import Lock

from turnkeeper.domain.plan import Attempt

OTHER = "other"
MAX_MODELS = 200


class LabelNames:
    """Names the registered models; what members name at their own endpoints is ``other``.

    Safe to use from several threads.

    Args:
        max_models: How many models have a label of their own.
    """

    def __init__(self, max_models: int = MAX_MODELS) -> None:
        self._max_models = max_models
        self._lock = Lock()  # guards the one below
        self._known: set[tuple[str, str]] = set()

    def of(self, attempt: Attempt | None) -> tuple[str, str]:
        """The labels of provider and model."""
        if attempt is None:
            return OTHER, OTHER
        family = attempt.provider.partition(":")[0]
        if attempt.endpoint is not None:
            return "custom", OTHER
        names = (family, attempt.model.name)
        with self._lock:
            if names in self._known or len(self._known) < self._max_models:
                self._known.add(names)
                return names
        return OTHER, OTHER
