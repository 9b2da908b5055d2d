"""A provider of chat models."""

from collections.abc import Iterator
from dataclasses import field
from typing import Protocol

from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent


@frozen
class ChatCall:
    """One request for an answer.

    Attributes:
        model: The model that is asked.
        conversation: What it is given.
        sampling: What the request sets.
        max_output_tokens: The output it asks for, or None to leave that out.
        endpoint: The custom endpoint, or None for the provider's own address.
        prefill: The beginning of the answer, to be gone on with; empty for none.
    """

    model: Model
    conversation: Conversation
    sampling: Sampling = field(default_factory=Sampling)
    max_output_tokens: int | None = None
    endpoint: Endpoint | None = None
    prefill: str = ""


class ChatProvider(Protocol):
    """Asks a provider's models. Safe to use from several threads.

    A provider never raises for what a provider can do wrong: the stream's last event is
    `Finished` or `StreamFailed`, one of them, once, and nothing comes after it. Failures are
    redacted. Closing the iterator, or the stop, ends the request and frees the connection.

    Attributes:
        heeds_stop: Whether nothing that it does goes on for long once the stop is set. Then the
            turn's own thread may ask it; any other is given a thread that can be left behind.
    """

    heeds_stop: bool = False

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        """Ask, and yield what comes, as soon as it comes.

        Args:
            key: The key, or None where the endpoint needs none.
            stop: Wakes a blocked read when set; `Cancelled` may then be raised.
            deadline: By when it must have ended, by the monotonic clock.

        Raises:
            Cancelled: The stop was set.
        """
        ...


class LimitsCatalogue(Protocol):
    """What providers themselves say of their models. Safe to use from several threads."""

    def facts(self, provider: str, model: str) -> ModelFacts | None:
        """What is known now, or None; never waits for a network, and never raises.

        What is asked for in vain may be known the next time.

        Args:
            provider: A provider's name or alias.
            model: The model's name in requests.
        """
        ...
