"""A sink around another one: it takes out what must not be shown, and counts what was.

Whatever it does not change, it hands on. It works with any sink: the console's, one of your own,
or another wrapped one.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.outcome import StreamResult
from turnkeeper.interfaces import (
    ConsoleSink,
    Conversation,
    Delivery,
    Origin,
    Sink,
    Spoken,
    Target,
    Turnkeeper,
    TurnRequest,
    TurnResult,
)

BAR = "█"


class WrappedSink(Sink):
    """Speaks through another sink. Serves one turn, as that one does.

    Attributes:
        posted: How many messages of the answer were posted.
        taken_back: How many of them were taken back.
    """

    def __init__(self, inner: Sink, *, hidden: Iterable[str] = ()) -> None:
        self._inner = inner
        words = "|".join(map(re.escape, hidden))
        self._hidden = re.compile(rf"\b(?:{words})\b", re.IGNORECASE) if words else None
        self.posted = 0
        self.taken_back = 0

    def shown(self, text: str) -> str:
        """The text with each hidden word blackened; it stays as long as it was."""
        if self._hidden is None:
            return text
        return self._hidden.sub(lambda found: BAR * len(found[0]), text)

    # ── the answer ──────────────────────────────────────────────────────────────────────────

    @property
    def can_take_back(self) -> bool:
        return self._inner.can_take_back

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        delivery = self._inner.post(self.shown(text), target=target, origin=origin, nonce=nonce)
        self.posted += 1
        return delivery

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        return self._inner.edit(delivery, self.shown(text))

    def take_back(self, delivery: Delivery) -> bool:
        is_gone = self._inner.take_back(delivery)
        self.taken_back += is_gone
        return is_gone

    # ── about the turn ──────────────────────────────────────────────────────────────────────

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        self._inner.emit_stream_result(result, self._masked(spoken))

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        self._inner.emit_error(error, self._masked(spoken))

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        self._inner.notice(notice, self._masked(spoken))

    def tell(self, spoken: Spoken) -> None:
        self._inner.tell(self._masked(spoken))

    def _masked(self, spoken: Spoken) -> Spoken:
        return replace(spoken, text=self.shown(spoken.text))

    # ── before and after ────────────────────────────────────────────────────────────────────

    def prepare(self, request: TurnRequest) -> Target:
        return self._inner.prepare(request)

    def finalize(self, result: TurnResult) -> None:
        self._inner.finalize(result)

    def cleanup(self) -> None:
        self._inner.cleanup()


def answer(
    keeper: Turnkeeper, prompt: str, sink: Sink, *, hidden: Iterable[str], server_id: str = "local"
) -> WrappedSink:
    """Answer into a sink without the hidden words; returns what was counted."""
    wrapped = WrappedSink(sink, hidden=hidden)
    keeper.run(TurnRequest(conversation=Conversation.of(prompt), server_id=server_id), wrapped)
    return wrapped


if __name__ == "__main__":
    with Turnkeeper.open() as opened:
        told = answer(opened, "Tell a ghost story.", ConsoleSink(), hidden=("ghost", "ghosts"))
        print(f"{told.posted} posted, {told.taken_back} taken back")
