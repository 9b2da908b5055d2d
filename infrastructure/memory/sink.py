"""A sink whose channel is in memory: what people would see can be looked at."""

from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from itertools import count
from threading import Lock

from turnkeeper.application.ports.sink import Sink, Spoken, Target
from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult
from turnkeeper.domain.turn import TurnRequest, TurnResult

_new_delivery = maker(Delivery)
_new_target = maker(Target)


_now = partial(datetime.now, UTC)


@frozen
class Message:
    """A message in a channel.

    Attributes:
        id: Its id.
        text: What it says.
        by: Who put it there: ``stream``, ``progress``, ``tool``, ``error`` or ``notice``.
        posted_at: When.
        webhook_id: The webhook that sent it, or None for the bot itself.
    """

    id: str
    text: str
    by: str
    posted_at: datetime = field(default_factory=_now, compare=False)
    webhook_id: str | None = None


_new_message = maker(Message)


Trouble = Callable[[str], None]
"""Called with the text before a post; may block, and raises to refuse it."""


class MemoryChannel:
    """Messages in order, as people see them. Safe to use from several threads.

    Args:
        now: When each is posted.
    """

    def __init__(self, *, now: Callable[[], datetime] = _now) -> None:
        self._now = now
        self._lock = Lock()  # guards the two below
        self._messages: dict[str, Message] = {}
        self._deleted: list[Message] = []
        self._ids = count(1)
        self._nonces: dict[str, str] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is there now."""
        with self._lock:
            return tuple(self._messages.values())

    @property
    def deleted(self) -> tuple[Message, ...]:
        """What was there and is gone, in the order in which it went."""
        with self._lock:
            return tuple(self._deleted)

    @property
    def text(self) -> str:
        """The answer as it stands, notices and errors aside."""
        return "\n".join(m.text for m in self.messages if m.by in {o.value for o in Origin})

    def said(self, by: str) -> tuple[str, ...]:
        """What was said by whom."""
        return tuple(message.text for message in self.messages if message.by == by)

    def put(self, text: str, by: str, *, nonce: str = "", webhook_id: str | None = None) -> Message:
        """Add a message; the same nonce adds none."""
        with self._lock:
            if nonce in self._nonces:
                return self._messages[self._nonces[nonce]]
            message_id = f"m{next(self._ids)}"
            message = _new_message(
                id=message_id, text=text, by=by, posted_at=self._now(), webhook_id=webhook_id
            )
            self._messages[message_id] = message
            if nonce:
                self._nonces[nonce] = message_id
            return message

    def change(self, message_id: str, text: str) -> None:
        """Replace a message's text.

        Raises:
            SinkError: There is no such message.
        """
        with self._lock:
            if message_id not in self._messages:
                raise SinkError(f"message {message_id} is not there")
            self._messages[message_id] = replace(self._messages[message_id], text=text)

    def delete(self, message_id: str) -> None:
        """Remove a message, if it is there."""
        with self._lock:
            message = self._messages.pop(message_id, None)
            if message is not None:
                self._deleted.append(message)


class MemorySink(Sink):
    """Speaks into a `MemoryChannel` and remembers what it was told.

    Each turn gets a sink of its own.

    Args:
        channel: Shared by several sinks where turns share a channel.
        trouble: Called before each post; what it raises, the post raises.
        take_back_trouble: The same for each deletion.
    """

    def __init__(
        self,
        channel: MemoryChannel | None = None,
        *,
        can_take_back: bool = True,
        edit_interval_s: float | None = None,
        max_chars: int = 2000,
        trouble: Trouble | None = None,
        take_back_trouble: Trouble | None = None,
    ) -> None:
        self.channel = channel or MemoryChannel()
        self._can_take_back = can_take_back
        self._edit_interval_s = edit_interval_s
        self._max_chars = max_chars
        self._trouble = trouble
        self._take_back_trouble = take_back_trouble
        self.prepared: list[TurnRequest] = []
        self.finalized: list[TurnResult] = []
        self.cleaned_up = 0
        self.errors: list[StreamResult | Exception] = []
        self.notices: list[tuple[FallbackNotice, Spoken]] = []
        self.told: list[Spoken] = []

    @property
    def can_take_back(self) -> bool:
        return self._can_take_back

    @property
    def is_prompt(self) -> bool:
        return self._trouble is None

    def prepare(self, request: TurnRequest) -> Target:
        self.prepared.append(request)
        return _new_target(
            channel_id=request.channel_id,
            max_chars=self._max_chars,
            edit_interval_s=self._edit_interval_s,
        )

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        if len(text) > target.max_chars or not text.strip():
            raise SinkError(f"a message has 1 to {target.max_chars} characters, not {len(text)}")
        if self._trouble is not None:
            self._trouble(text)
        # An enum's `value` is slow.
        message = self.channel.put(text, origin._value_, nonce=nonce, webhook_id=target.webhook_id)
        return _new_delivery(
            message_id=message.id, channel_id=target.channel_id, text=text, origin=origin
        )

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        self.channel.change(delivery.message_id, text)
        return replace(delivery, text=text)

    def take_back(self, delivery: Delivery) -> bool:
        if self._take_back_trouble is not None:
            self._take_back_trouble(delivery.text)
        self.channel.delete(delivery.message_id)
        return True

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        self.errors.append(result)
        self.channel.put(_line(spoken), "error")

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        self.errors.append(error)
        self.channel.put(_line(spoken), "error")

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        self.notices.append((notice, spoken))
        self.channel.put(_line(spoken), "notice")

    def tell(self, spoken: Spoken) -> None:
        self.told.append(spoken)
        self.channel.put(_line(spoken), "notice")

    def finalize(self, result: TurnResult) -> None:
        self.finalized.append(result)

    def cleanup(self) -> None:
        self.cleaned_up += 1


def _line(spoken: Spoken) -> str:
    return "\n".join(part for part in (spoken.title, spoken.text, *spoken.tips) if part)
