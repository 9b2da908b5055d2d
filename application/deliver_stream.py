"""From a stream's text to messages in the channel."""

from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.sink import Target
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.visible_text import VisibleText

DEFAULT_RULES = TextRules()


class DeliverStream:
    """Delivers one invocation's text. Used by the one thread that runs the invocation.

    Args:
        holds: Keeps all text until `finish`, for a sink that cannot take back.
        rules: What of the text is shown, and when.

    Attributes:
        is_full: Whether as many messages were posted as may be; no more are, so the caller stops.
        takes_no_more: Whether it is full, or the speaker guard ended the answer. Look after each
            `text`: what comes then is ignored, so the caller stops the stream and calls `finish`.
            Where nothing is shown there is no answer.
        seen: What of the text is shown so far, whether it was posted or not, and what is not.
    """

    is_full = takes_no_more = False
    _is_open = False
    _first_at_s: float | None = None
    _growing: Delivery | None = None
    _edited_at_s: float | None = None

    def __init__(
        self,
        outlet: Outlet,
        target: Target,
        clock: Clock,
        holds: bool,
        rules: TextRules = DEFAULT_RULES,
    ) -> None:
        self._outlet = outlet
        self._edit_interval_s = interval_s = target.edit_interval_s
        self._clock = clock
        self._holds = holds
        self._rules = rules
        self._speakers = rules.speakers
        cuts, fills = not holds, interval_s is not None
        self.seen = VisibleText(rules, target.max_chars, cuts, fills)
        self._waiting: list[str] = []
        self._delivered: list[str] = []

    @property
    def delivered_text(self) -> str:
        """What is in the channel of this invocation's text."""
        grown = [self._growing.text] if self._growing is not None else []
        return "\n".join(self._delivered + grown)

    def text(self, piece: str) -> None:
        """Take some more text; post what is ready."""
        if messages := self.seen.take(piece):
            self._waiting += messages
        if self._speakers and self.seen.is_guarded:
            self.takes_no_more = True
        if self._holds or not (self._is_open or self._opens()):
            return
        if self._waiting:
            self._post_waiting()
        if self._edit_interval_s is not None:
            self._grow(self._edit_interval_s)

    def before_tool(self) -> None:
        """Post what is pending ahead of a tool call; nothing happens where nothing is.

        A trailing clause is cut off and not posted; it stays in what is `seen`. Where text
        is held until `finish`, it waits on. What comes next is a text of its own.
        """
        self._waiting += self.seen.end(trim=True)
        if not self._holds:
            self._post_rest()

    def finish(self) -> None:
        """Post all that is left."""
        self._waiting += self.seen.end()
        self._post_rest()

    def drop(self) -> None:
        """Forget what was not posted: it will not be."""
        self.seen.end()
        self._waiting.clear()

    def _opens(self) -> bool:
        """Whether enough text came for the first message, or long enough ago."""
        shown_chars = self.seen.shown_chars
        if not shown_chars:
            self._first_at_s = None
            return False
        if shown_chars < self._rules.hold_chars:
            now_s = self._clock.monotonic()
            if self._first_at_s is None:
                self._first_at_s = now_s
            if now_s - self._first_at_s < self._rules.hold_s:
                return False
        self._is_open = True
        return True

    def _post_rest(self) -> None:
        """Post what waits, and settle the growing message: nothing of it is pending."""
        if self._waiting:
            self._is_open = True
        self._post_waiting()
        if self._growing is not None:
            self._note(self._growing.text)
            self._growing = None

    def _post_waiting(self) -> None:
        while self._waiting and not self.is_full:
            message = self._waiting.pop(0)
            if self._growing is None:
                self._outlet.post(message)
            else:
                self._edit(message)
                self._growing = None
            self._note(message)

    def _note(self, message: str) -> None:
        """It is whole, and in the channel."""
        self._delivered.append(message)
        most = self._rules.most_messages
        if most and most <= len(self._delivered):
            self.is_full = self.takes_no_more = True

    def _grow(self, interval_s: float) -> None:
        """Show the message that is not whole yet, not too often."""
        now_s = self._clock.monotonic()
        if self.is_full:
            return
        if self._edited_at_s is not None and now_s - self._edited_at_s < interval_s:
            return
        text = self.seen.preview
        if not text:
            return
        if self._growing is None:
            self._growing = self._outlet.post(text)
        else:
            self._edit(text)
        self._edited_at_s = now_s

    def _edit(self, text: str) -> None:
        before = self._growing
        assert before is not None
        if before.text != text:
            self._growing = self._outlet.edit(before, text)
