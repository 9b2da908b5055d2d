"""Where a turn speaks: three ports that one object usually fills."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult
from turnkeeper.domain.turn import TurnRequest, TurnResult


@frozen
class Target:
    """Where and as whom every post of the turn speaks; what `prepare` returned.

    Attributes:
        channel_id: Where.
        thread_id: The thread within it, or None.
        webhook_id: The webhook that speaks, or None for the bot itself.
        username: The name it speaks under, or None.
        avatar_url: The picture, or None.
        max_chars: The longest message the destination takes.
        edit_interval_s: Messages grow in place, edited at most this often; None posts each
            message once, when it is whole.
        webhook_is_temporary: Whether the webhook was made for this turn; a sweep deletes it if
            the process dies.
    """

    channel_id: str
    thread_id: str | None = None
    webhook_id: str | None = None
    username: str | None = None
    avatar_url: str | None = None
    max_chars: int = 2000
    edit_interval_s: float | None = None
    webhook_is_temporary: bool = False


@frozen
class Spoken:
    """Something said to people, already in their language.

    Attributes:
        title: A line, possibly empty.
        text: The rest.
        tips: What they can do about it.
    """

    title: str
    text: str = ""
    tips: tuple[str, ...] = ()


class ResponseSink(Protocol):
    """Opens and closes the place where one turn speaks. One sink serves one turn."""

    def prepare(self, request: TurnRequest) -> Target:
        """Get ready; called once, first. If it raises, only `cleanup` follows.

        Raises:
            SinkError: The place cannot be used.
            DestinationGone: ... and nobody can be reached there.
        """
        ...

    def finalize(self, result: TurnResult) -> None:
        """The turn is over; called once on every path that returns a result."""
        ...

    def cleanup(self) -> None:
        """Release what the turn used; called once on every path, last."""
        ...


class Deliver(Protocol):
    """Puts the answer where people read it, and takes it back.

    Posts of one turn come one after the other; `take_back` may come from another thread.
    """

    @property
    def can_take_back(self) -> bool:
        """Whether what was posted can be deleted; if not, text is held until it is sure."""
        ...

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        """Post a message of at most `target.max_chars`, not blank.

        Args:
            nonce: Equal for a repeated post of the same message.

        Raises:
            SinkError: It is not there, as far as anybody can tell.
            DestinationGone: Nobody can be reached there.
        """
        ...

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        """Replace a message's text.

        Raises:
            SinkError: It still says what it said.
        """
        ...

    def take_back(self, delivery: Delivery) -> bool:
        """Delete a message; True if it is gone, also where it had been gone before.

        A post that outlived its turn is taken back when it arrives, even after `cleanup`.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        ...


Stuck = tuple[Delivery, SinkError]
"""A message that is still there, or of which nobody can tell, and why."""


@runtime_checkable
class TakesBackMany(Protocol):
    """What a sink may offer beside `Deliver`: a destination that deletes many messages at once."""

    def take_back_all(self, deliveries: tuple[Delivery, ...]) -> tuple[Stuck, ...]:
        """Delete messages; returns those that stay. Never raises for one that does."""
        ...


class Prompt(Protocol):
    """What a sink may offer beside `Deliver`: it waits for nothing."""

    @property
    def is_prompt(self) -> bool:
        """Whether no post or edit waits for anything.

        Then the turn's own thread posts; through any other sink, a thread does that can be left
        behind.
        """
        ...


Tell = Callable[[str, str], None]
"""Takes in words what the trouble was, and what was done about it. Safe from several threads."""


@runtime_checkable
class TellsTroubles(Protocol):
    """What a sink may offer beside `ResponseSink`: it tells what it met and got over by itself."""

    def tell_troubles(self, tell: Tell) -> None:
        """From now on, call `tell` with each trouble; called at most once, before `prepare`."""
        ...


class Announce(Protocol):
    """Tells people about the turn itself. Nothing here is part of the answer."""

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        """The turn ended with this error."""
        ...

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        """The turn ended with a bug."""
        ...

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        """Another model than the first answered."""
        ...

    def tell(self, spoken: Spoken) -> None:
        """A refusal, or progress of a long turn."""
        ...


class Sink(ResponseSink, Deliver, Announce, Protocol):
    """All three."""
