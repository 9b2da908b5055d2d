"""How many tokens a conversation is for a model."""

from typing import Protocol

from turnkeeper.application.ports.token_measures import TokenMeasure
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.model import Model
from turnkeeper.domain.truncation import Sizes


class TokenCounter(Protocol):
    """Counts tokens, as well as it can without asking anybody. Safe to use from several threads.

    No method waits for a network or a disk.
    """

    def sizes(self, conversation: Conversation, model: Model) -> Sizes:
        """How many tokens each item is, and the tools."""
        ...

    def learn(self, model: Model, *, counted: int, reported: int) -> None:
        """Take note that what was counted as so many tokens were really so many.

        Args:
            counted: The total that `sizes` gave for a request.
            reported: Its input tokens, by the provider's own word, cached ones included.
        """
        ...


class Learner(Protocol):
    """What a counter has learnt, to be carried from one process to the next."""

    def recall(self, measures: tuple[TokenMeasure, ...]) -> None:
        """Know what was learnt before, by this process or another."""
        ...

    def learnt(self) -> tuple[TokenMeasure, ...]:
        """What was learnt since this was asked last."""
        ...
