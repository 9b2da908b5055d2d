"""Who gets which behaviour, and who has come so far."""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from turnkeeper.infrastructure.wall.behaviour import Behaviour, Refuse
from turnkeeper.infrastructure.wall.seen import Seen

Step = Behaviour | Callable[[Seen], Behaviour]
Place = tuple[str | None, str | None, str | None]


class _Queue:
    """The steps of one place; each is used up by one request, the last one stays."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._steps = steps
        self._next = 0

    def take(self) -> Step:
        step = self._steps[self._next]
        self._next = min(self._next + 1, len(self._steps) - 1)
        return step


class InTurn:
    """Steps that several places share: each is used up by one request, the last one stays."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._queue = _Queue(tuple(steps))
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Behaviour:
        with self._lock:
            step = self._queue.take()
        return step(seen) if callable(step) else step


class Script:
    """Behaviours by path, key and model; None stands for any. Safe to use from several threads.

    The most specific place counts: a path weighs more than a key, a key more than a model.
    """

    def __init__(self, *, remembered: int) -> None:
        # Guards all below, so that requests are listed in the order in which they took a step.
        self._changed = threading.Condition()
        self._queues: dict[Place, _Queue] = {}
        self._seen: deque[Seen] = deque(maxlen=remembered)
        self._seen_count = 0
        self._errors: list[Exception] = []

    def put(
        self,
        steps: Step | Sequence[Step],
        *,
        path: str | None,
        key: str | None,
        model: str | None,
    ) -> None:
        """Set one place anew.

        Raises:
            ValueError: There is no step.
        """
        chosen = tuple(steps) if isinstance(steps, Sequence) else (steps,)
        if not chosen:
            raise ValueError(
                f"the script for model {model!r} is empty; give at least one behaviour"
            )
        with self._changed:
            self._queues[path, key, model] = _Queue(chosen)

    def meet(self, seen: Seen, *, on_chat_route: bool) -> Behaviour | None:
        """Note a request and say what it meets; None if no place fits.

        Args:
            on_chat_route: Whether a place without a path may answer too.
        """
        paths = (seen.path, None) if on_chat_route else (seen.path,)
        with self._changed:
            self._seen.append(seen)
            self._seen_count += 1
            self._changed.notify_all()
            step = self._take(itertools.product(paths, (seen.key, None), (seen.model, None)))
        return self._asked(step, seen) if callable(step) else step

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are scripted by name, in order."""
        with self._changed:
            return tuple(sorted({model for _, _, model in self._queues if model is not None}))

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The requests that are remembered."""
        with self._changed:
            return tuple(self._seen)

    @property
    def errors(self) -> tuple[Exception, ...]:
        """What callables raised."""
        with self._changed:
            return tuple(self._errors)

    def await_seen(self, requests: int, *, timeout_s: float) -> tuple[Seen, ...]:
        """Wait until so many requests came in.

        Raises:
            TimeoutError: They did not come.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._seen_count >= requests, timeout_s):
                raise TimeoutError(f"the wall saw {self._seen_count} of {requests} requests")
            return tuple(self._seen)

    def _take(self, places: Iterable[Place]) -> Step | None:
        for place in places:
            if (queue := self._queues.get(place)) is not None:
                return queue.take()
        return None

    def _asked(self, step: Callable[[Seen], Behaviour], seen: Seen) -> Behaviour:
        try:
            return step(seen)
        except Exception as error:  # noqa: BLE001 - the caller's own code; the wall's exit raises it
            with self._changed:
                self._errors.append(error)
            return Refuse(status=500, body="a callable of the wall's script raised")
