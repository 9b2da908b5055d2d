"""Forgets a user."""

from collections.abc import Callable

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.ports.user_traces import Traces, UserTraces
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner

BATCH = 200


class ForgetUser:
    """Forgets a user's turns little by little, and then the rest at once."""

    def __init__(self, *, traces: UserTraces, known: KnownSettings, batch: int = BATCH) -> None:
        self._traces = traces
        self._known = known
        self._batch = batch

    def count(self, user_id: str) -> Traces:
        """How much there is to forget."""
        return self._traces.count(user_id)

    def __call__(self, user_id: str, told: Callable[[int], None] = lambda done: None) -> Traces:
        """Forget all of a user but turns that are not over; says how much that was.

        Args:
            told: Called after each batch with how many turns are forgotten by then.

        Raises:
            StoreUnavailable: What was forgotten by then stays so.
        """
        gone = Traces()
        while (batch := self._traces.forget_turns(user_id, limit=self._batch)).turns:
            gone = gone.plus(batch)
            told(gone.turns)
        gone = gone.plus(self._traces.forget_account(user_id))
        self._known.forget(Owner.user(user_id))
        return replace(gone, unfinished=self._traces.count(user_id).unfinished)
