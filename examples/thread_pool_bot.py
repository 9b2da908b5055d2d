"""A bot: each message is answered on a thread of a pool, one answer a channel at a time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from turnkeeper.interfaces import (
    Busy,
    Conversation,
    SimpleSink,
    Turnkeeper,
    TurnRequest,
    TurnResult,
)

THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What somebody wrote."""

    id: str
    channel_id: str
    user_id: str
    text: str


Say = Callable[[str, str], None]
"""Writes a text into a channel."""


class ChannelSink(SimpleSink):
    """Writes the answer into the channel that the message came from."""

    def __init__(self, channel_id: str, say: Say) -> None:
        super().__init__()
        self._channel_id = channel_id
        self._say = say

    def send(self, text: str) -> None:
        self._say(self._channel_id, text)


class Bot:
    """Answers messages. Ask it from any thread."""

    def __init__(self, keeper: Turnkeeper, say: Say, *, server_id: str = "local") -> None:
        self._keeper = keeper
        self._say = say
        self._server_id = server_id

    def answer(self, message: Message) -> TurnResult | None:
        """Answer one message; None where there is too much to do."""
        request = TurnRequest(
            conversation=Conversation.of(message.text),
            server_id=self._server_id,
            channel_id=message.channel_id,
            user_id=message.user_id,
            trigger_id=message.id,
        )
        try:
            return self._keeper.run(request, ChannelSink(message.channel_id, self._say))
        except Busy:
            self._say(message.channel_id, "There is too much to do just now; ask again later.")
            return None

    def serve(self, messages: Iterable[Message]) -> list[TurnResult | None]:
        """Answer messages as they come, each on a thread of its own."""
        with ThreadPoolExecutor(THREADS, thread_name_prefix="bot") as pool:
            return list(pool.map(self.answer, messages))


if __name__ == "__main__":
    lines = [
        Message(id=str(number), channel_id=f"room {number % 2}", user_id="you", text=text)
        for number, text in enumerate(("Hello!", "What is a turn?", "And a channel?"))
    ]
    with Turnkeeper.open() as opened:
        Bot(opened, lambda channel, text: print(f"[{channel}] {text}")).serve(lines)
