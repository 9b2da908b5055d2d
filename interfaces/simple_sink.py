"""A sink of which a host writes only what it needs."""

from itertools import count

from turnkeeper.application.ports.sink import Sink, Spoken, Target
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult
from turnkeeper.domain.turn import TurnRequest, TurnResult

MAX_CHARS = 2000


class SimpleSink(Sink):
    """Override `send`, and whatever else the destination can do; one sink serves one turn.

    As it is, it shows nothing: the answer is in the result. Without a `delete` of its own, all
    text is held until it is sure to stand.

    Attributes:
        max_chars: The longest message that `send` takes.
    """

    max_chars = MAX_CHARS

    def __init__(self) -> None:
        self._numbers = count(1)

    def send(self, text: str) -> str | None:
        """Show a message of the answer; returns its id, if it has one.

        Raises:
            SinkError: It is not there.
        """
        return None

    def announce(self, text: str) -> None:
        """Say something about the turn: an error, a refusal, or that a fallback answered."""
        self.send(text)

    def delete(self, message_id: str) -> bool:
        """Take a message away; whether it is gone."""
        return False

    # ── the port ────────────────────────────────────────────────────────────────────────────

    @property
    def can_take_back(self) -> bool:
        return type(self).delete is not SimpleSink.delete

    def prepare(self, request: TurnRequest) -> Target:
        return Target(channel_id=request.channel_id, max_chars=self.max_chars)

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        message_id = self.send(text) or f"message-{next(self._numbers)}"
        return Delivery(
            message_id=message_id, channel_id=target.channel_id, text=text, origin=origin
        )

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        return replace(delivery, text=text)  # never asked for: `prepare` names no interval

    def take_back(self, delivery: Delivery) -> bool:
        return self.delete(delivery.message_id)

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        self.announce(_text_of(spoken))

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        self.announce(_text_of(spoken))

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        self.announce(_text_of(spoken))

    def tell(self, spoken: Spoken) -> None:
        self.announce(_text_of(spoken))

    def finalize(self, result: TurnResult) -> None:
        """Nothing is left to do."""

    def cleanup(self) -> None:
        """Nothing is held."""


def _text_of(spoken: Spoken) -> str:
    return "\n".join(part for part in (spoken.title, spoken.text, *spoken.tips) if part)
