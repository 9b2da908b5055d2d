"""From a stream's text to messages in the channel."""

from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.sink import Target
from turnkeeper.domain import segment
from turnkeeper.domain.outcome import Delivery


class DeliverStream:
    """Delivers one invocation's text. Used by the one thread that runs the invocation.

    Args:
        holds: Keeps all text until `finish`, for a sink that cannot take back.
    """

    def __init__(self, *, outlet: Outlet, target: Target, clock: Clock, holds: bool) -> None:
        self._outlet = outlet
        self._target = target
        self._clock = clock
        self._holds = holds
        self._pieces: list[str] = []
        self._length = 0
        self._growing: Delivery | None = None
        self._edited_at_s = 0.0
        self._delivered: list[str] = []

    @property
    def delivered_text(self) -> str:
        """What is in the channel of this invocation's text."""
        grown = [self._growing.text] if self._growing is not None else []
        return "\n".join(self._delivered + grown)

    def text(self, piece: str) -> None:
        """Take some more text; post what is ready."""
        self._pieces.append(piece)
        self._length += len(piece)
        if self._holds:
            return
        if self._target.edit_interval_s is not None:
            self._grow(self._target.edit_interval_s)
        elif self._length > segment.SOFT_LIMIT or self._length > self._target.max_chars:
            self._post_ready()

    def finish(self) -> None:
        """Post all that is left."""
        text = self._taken()
        if self._growing is not None:
            self._end_growing(text)
            return
        for part in segment.rest(text, limit=self._target.max_chars):
            self._post(part)

    def before_tool(self) -> None:
        """Post what was said before a tool is called."""
        self.finish()

    def drop(self) -> None:
        """Forget what was not posted: it will not be."""
        self._pieces.clear()
        self._length = 0

    def _post_ready(self) -> None:
        parts, text = segment.ready(self._taken(), limit=self._target.max_chars)
        self._pieces, self._length = [text], len(text)
        for part in parts:
            self._post(part)

    def _grow(self, interval_s: float) -> None:
        """Post the first text at once and edit it as it grows, not too often."""
        now_s = self._clock.monotonic()
        if self._growing is None:
            text = "".join(self._pieces)
            if text.strip():
                self._growing = self._outlet.post(text[: self._target.max_chars])
                self._edited_at_s = now_s
            return
        if self._length > self._target.max_chars:
            self._overflow()
        elif now_s - self._edited_at_s >= interval_s:
            self._edit("".join(self._pieces))
            self._edited_at_s = now_s

    def _overflow(self) -> None:
        """The growing message is full: settle it and let the next one grow."""
        parts, text = segment.ready(self._taken(), limit=self._target.max_chars)
        self._settle_growing(parts)
        self._pieces, self._length = [text], len(text)

    def _end_growing(self, text: str) -> None:
        self._settle_growing(segment.rest(text, limit=self._target.max_chars))

    def _settle_growing(self, parts: tuple[str, ...]) -> None:
        if parts and self._growing is not None:
            self._edit(parts[0])
            self._delivered.append(self._growing.text)
            self._growing = None
            parts = parts[1:]
        for part in parts:
            self._post(part)

    def _edit(self, text: str) -> None:
        before = self._growing
        assert before is not None
        if before.text == text:
            return
        self._growing = self._outlet.edit(before, text)

    def _post(self, text: str) -> None:
        self._outlet.post(text)
        self._delivered.append(text)

    def _taken(self) -> str:
        text = "".join(self._pieces)
        self._pieces, self._length = [], 0
        return text
