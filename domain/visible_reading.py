"""A model's text, read sign by sign for what is shown of it."""

from collections.abc import Iterable

from turnkeeper.domain.segment import Segmenter
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.visible_guard import SpeakerGuard
from turnkeeper.domain.visible_repeats import Repeats
from turnkeeper.domain.visible_surrogates import Surrogates
from turnkeeper.domain.visible_tags import StrayClose, TagFilter

BREAK = "\n\n"
"""What stands between what was said before a tool call and after it."""


NONE = -1
"""Not even an empty piece can be kept unread."""


class ReadText:
    """One invocation's text, read piece by piece. Used by one thread.

    Args:
        limit: The longest message, in code points.
        cuts: Whether messages are cut as the text comes; if not, only where it ends.
        fills: Whether a message ends only when the next character would not fit.
    """

    def __init__(
        self, rules: TextRules, *, limit: int, cuts: bool = True, fills: bool = False
    ) -> None:
        self._looks_for_repeats = rules.dedupe_from is not None
        self._guards = bool(rules.speakers)
        self._repeats = Repeats(rules.dedupe_from)
        self._surrogates = Surrogates()
        self._tags = TagFilter(capture_details=rules.capture_details)
        self._guard = SpeakerGuard(rules.speakers)
        self._segmenter = Segmenter(
            limit=limit,
            stand_alone_chars=limit if fills else rules.stand_alone_chars,
            is_eager=cuts,
        )
        self._shown: list[str] = []
        self._is_broken = False
        self.shown_chars = 0

    @property
    def shown(self) -> str:
        """All visible text so far, whole."""
        return "".join(self._shown)

    @property
    def thoughts(self) -> str:
        """All that was thought in think blocks so far."""
        return self._tags.thoughts

    @property
    def details(self) -> str:
        """The bodies of the details that were kept back so far."""
        return self._tags.details

    @property
    def is_guarded(self) -> bool:
        """Whether another speaker's label ended the answer; nothing is taken any more."""
        return self._guard.is_tripped

    @property
    def preview(self) -> str:
        """What is visible and in no message yet, as one message."""
        return self._segmenter.preview

    @property
    def lets_text_pass(self) -> bool:
        """Whether text is shown: no block is open, and nothing that may be a tag waits."""
        return self._tags.lets_text_pass

    @property
    def plain_chars(self) -> tuple[int, bool]:
        """So much more text can be read later, as nothing comes of it yet, and whether in lines.

        Text that is no tag, nor half a character; of the line alone where lines may matter.
        """
        if self._looks_for_repeats or self._surrogates.half or not self._tags.lets_text_pass:
            return NONE, False
        if not self._guards:
            quiet_chars = self._segmenter.quiet_chars
            if quiet_chars > 0:
                return quiet_chars, True
        elif not self._guard.lets_line_pass:
            return NONE, False
        return self._segmenter.free_chars, False

    @property
    def examined_chars(self) -> int:
        """How many characters were looked at one by one: what all this costs."""
        return self._tags.examined_chars + self._segmenter.examined_chars

    def take(self, piece: str) -> tuple[str, ...]:
        """Take some more text; the messages that are whole."""
        if self._guard.is_tripped:
            return ()
        if self._looks_for_repeats:
            if not self._tags.is_in_code and self._repeats.again(piece):
                return ()
            self._repeats.note(piece)
        text = self._surrogates.take(piece)
        if not self._guards and self._tags.lets_pass(text):  # as nearly all is
            return self._visible(text)
        return tuple(self._show(self._tags.take(text)))

    def end(self, *, trim: bool = False) -> tuple[str, ...]:
        """The model's turn to speak is over: the messages that are left.

        Args:
            trim: Leave a trailing clause out of them; `shown` keeps it.
        """
        messages: list[str] = []
        messages += self._show(self._tags.take(self._surrogates.end()))
        messages += self._show(self._tags.end())
        messages += self._visible(self._guard.end())
        messages += self._segmenter.rest(trim=trim)
        self._repeats.start_over()
        self._is_broken = bool(self._shown)
        return tuple(messages)

    def _show(self, parts: Iterable[str | StrayClose]) -> list[str]:
        messages: list[str] = []
        for part in parts:
            if isinstance(part, str):
                messages += self._visible(self._guard.take(part))
                if self._guard.is_tripped:
                    break
            else:
                self._unshow()
        return messages

    def _visible(self, text: str) -> tuple[str, ...]:
        if not text:
            return ()
        if self._is_broken:
            self._is_broken = False
            self._shown.append(BREAK)
        self._shown.append(text)
        self.shown_chars += len(text if self.shown_chars else text.lstrip())
        return self._segmenter.take(text)

    def _unshow(self) -> None:
        """What is in no message yet was a thought."""
        pending = self._segmenter.forget()
        over = len(pending)
        while over > 0 and self._shown:
            last = self._shown.pop()
            if len(last) > over:
                self._shown.append(last[:-over])
            over -= len(last)
        self.shown_chars = max(0, self.shown_chars - len(pending))
        self._tags.add_thought(pending + self._guard.forget())
