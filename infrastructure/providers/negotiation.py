"""What a model refuses to be told is left out; for all adapters of providers."""

from collections.abc import Callable, Generator, Iterator
from typing import Generic, Protocol, Self, TypeVar

from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.stream import StreamEvent, StreamFailed
from turnkeeper.infrastructure.providers.refused_parameters import Refusal, RefusedParameters

MOST_DROPS = 3


class Negotiable(Protocol):
    """A request that can do without some of its parameters."""

    @property
    def model(self) -> str:
        """Who is asked."""

    def without(self, refusals: frozenset[Refusal]) -> Self:
        """The request without what is refused."""


R = TypeVar("R", bound=Negotiable)


class Negotiation(Generic[R]):
    """Asks again without what a model refuses to be told, and leaves it out from then on.

    Safe to use from several threads.

    Args:
        refusal_of: What a request would go through without, as far as its failure, which is that
            of a bad request, says so.
    """

    def __init__(self, refusal_of: Callable[[R, Failure], Refusal | None]) -> None:
        self._refusal_of = refusal_of
        self._refused = RefusedParameters()

    def events(
        self, request: R, at: str, ask: Callable[[R], Generator[StreamEvent, None, None]]
    ) -> Iterator[StreamEvent]:
        """Ask, and yield what comes, as soon as it comes.

        Args:
            at: The address whose models are asked.
            ask: Asks once.
        """
        known = self._refused.of(at, request.model)
        learned: list[Refusal] = []
        while True:
            asked = request.without(known) if known else request
            events = ask(asked)
            try:
                first = next(events)
                refusal = self._refusal(first, asked) if type(first) is StreamFailed else None
                if refusal is None or len(learned) == MOST_DROPS:
                    if learned:
                        self._learn(first, at, asked.model, learned)
                    yield first
                    yield from events
                    return
            finally:
                events.close()
            known |= {refusal}
            learned.append(refusal)

    def _learn(self, first: StreamEvent, at: str, model: str, learned: list[Refusal]) -> None:
        """Remember what was left out, if that was what helped."""
        if not isinstance(first, StreamFailed):
            for refusal in learned:
                self._refused.learn(at, model, refusal)

    def _refusal(self, first: StreamFailed, asked: R) -> Refusal | None:
        if first.failure.kind is not FailureKind.BAD_REQUEST:
            return None
        return self._refusal_of(asked, first.failure)
