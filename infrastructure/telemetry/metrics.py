"""What is measured of turns, by the names under which Prometheus knows it."""

from prometheus_client import CollectorRegistry, Counter, Histogram

TURN_BUCKETS_S = (0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900)
PROGRESS_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2, 4, 8, 12, 20, 60, 300)


class Metrics:
    """All counters and histograms, in one registry. No label holds an id."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry

        self.turns = self._count("turns", "Turns that ended.", "status", "route")
        self.rescued = self._count(
            "rescued_turns", "Turns answered after a failure: by what.", "by"
        )
        self.refusals = self._count("refusals", "Turns or routes that were refused.", "kind")
        self.turn_s = self._time("turn_seconds", "How long turns took.", TURN_BUCKETS_S, "status")

        self.invocations = self._count(
            "invocations", "Runs of a model with a key.", "provider", "model", "outcome"
        )
        self.failures = self._count(
            "failures", "Runs that failed, by kind.", "provider", "model", "kind"
        )
        self.first_progress_s = self._time(
            "first_progress_seconds",
            "Until the first text, reasoning or tool argument.",
            PROGRESS_BUCKETS_S,
            "provider",
            "model",
        )
        self.tokens = self._count("tokens", "Tokens as reported.", "provider", "model", "direction")
        self.model_rests = self._count(
            "model_rests", "Times a model was put behind others.", "provider", "model"
        )
        self.server_routes = self._count(
            "server_routes", "Times the server was asked for its models.", "answer"
        )

        self.bookings = self._count(
            "key_bookings", "Outcomes booked on keys.", "provider", "booking", "error_class"
        )
        self.no_key = self._count("no_key", "Times no key could be lent.", "provider")

        self.posted = self._count("messages_posted", "Messages posted.", "origin")
        self.taken_back = self._count(
            "messages_taken_back", "Messages of failed attempts that were deleted.", "late"
        )
        self.stuck = self._count(
            "messages_stuck", "Messages of failed attempts that could not be deleted."
        )
        self.quota = self._count("quota_units", "Units of quota, by what became of them.", "state")
        self.tools = self._count("tool_runs", "Tools that models called.", "state", "replayed")
        self.effects_failed = self._count(
            "effects_failed", "Things done on the side that did not work.", "effect"
        )

        self.sweeps = self._count("sweeps", "Sweeps that this process did.")
        self.swept = self._count("swept_turns", "Turns found dead and swept up after.")
        self.swept_messages = self._count(
            "swept_messages", "Messages of dead turns, by what became of them.", "fate"
        )

    def _count(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"turnkeeper_{name}", text, labels, registry=self.registry)

    def _time(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(
            f"turnkeeper_{name}", text, labels, buckets=buckets, registry=self.registry
        )
