"""From what a model said to messages: pure, one answer a time."""

import re

from turnkeeper.domain.segment import least_part
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.visible_guard import is_label, names_of
from turnkeeper.domain.visible_reading import NONE, ReadText

_in_lines = re.compile(r"[<\ud800-\udfff]").search
_in_a_line = re.compile(r"[<\n\ud800-\udfff]").search


class VisibleText:
    """One invocation's text, taken piece by piece. Used by one thread.

    Of most pieces nothing comes yet: they begin and end nothing, and no message is full. They are
    only kept, and read together with the next that may mean more; so a short answer is mostly never
    read at all.

    Args:
        limit: The longest message, in code points.
        cuts: Whether messages are cut as the text comes; if not, only where it ends.
        fills: Whether a message ends only when the next character would not fit.
    """

    _reading: ReadText | None = None
    _is_over = False  # the end came behind what is kept
    _plain_chars = NONE  # so many more are only kept

    def __init__(
        self, rules: TextRules, limit: int, cuts: bool = True, fills: bool = False
    ) -> None:
        self._rules = rules
        self._limit = limit
        self._cuts = cuts
        self._fills = fills
        self._kept: list[str] = []  # what comes behind what was read
        self._may_mean_more = _in_lines
        if not rules.speakers and rules.dedupe_from is None:
            stand_alone_chars = limit if fills else rules.stand_alone_chars
            self._plain_chars = least_part(limit, stand_alone_chars) - 1 if cuts else limit

    @property
    def shown(self) -> str:
        """All visible text so far, whole."""
        return "".join(self._kept) if self._reading is None else self._all_read().shown

    @property
    def shown_chars(self) -> int:
        """How many characters were shown, without the space before the first."""
        if self._reading is None and (chars := len("".join(self._kept).lstrip())):
            return chars
        return self._all_read().shown_chars

    @property
    def thoughts(self) -> str:
        """All that was thought in think blocks so far."""
        return "" if self._reading is None else self._reading.thoughts

    @property
    def details(self) -> str:
        """The bodies of the details that were kept back so far."""
        return "" if self._reading is None else self._reading.details

    @property
    def is_guarded(self) -> bool:
        """Whether another speaker's label ended the answer; nothing is taken any more."""
        return self._reading is not None and self._reading.is_guarded

    @property
    def preview(self) -> str:
        """What is visible and in no message yet, as one message."""
        return self._all_read().preview

    @property
    def examined_chars(self) -> int:
        """How many characters were looked at one by one: what all this costs."""
        return self._all_read().examined_chars

    def take(self, piece: str) -> tuple[str, ...]:
        """Take some more text; the messages that are whole."""
        chars = len(piece)
        if chars <= self._plain_chars and self._may_mean_more(piece) is None:
            self._plain_chars -= chars
            self._kept.append(piece)
            return ()
        reading = self._reading
        if reading is None and self._opens_a_line(piece):
            self._plain_chars, self._may_mean_more = self._limit, _in_a_line
            return self.take(piece)
        if reading is None or self._kept or self._is_over:
            reading = self._all_read()
        messages = reading.take(piece)
        if self._plain_chars != NONE or reading.lets_text_pass:
            self._look_at(reading)
        return messages

    def end(self, *, trim: bool = False) -> tuple[str, ...]:
        """The model's turn to speak is over: the messages that are left.

        Args:
            trim: Leave a trailing clause out of them; `shown` keeps it.
        """
        if self._reading is None and not (self._is_over or trim):
            text = "".join(self._kept).strip()
            if "```" not in text and "~~~" not in text:  # else it may have to be closed
                self._is_over = True
                self._plain_chars = NONE
                return (text,) if text else ()
        reading = self._all_read()
        messages = reading.end(trim=trim)
        self._look_at(reading)
        return messages

    def _opens_a_line(self, piece: str) -> bool:
        """Whether the first piece begins a line that cannot become another speaker's."""
        rules = self._rules
        if not rules.speakers or rules.dedupe_from is not None or self._kept or self._is_over:
            return False
        if len(piece) > self._limit or _in_a_line(piece):
            return False
        return is_label(piece, names_of(rules.speakers)) is False

    def _all_read(self) -> ReadText:
        """What reads the text, once it has read what was only kept."""
        reading = self._reading
        if reading is None:
            reading = self._reading = ReadText(
                self._rules, limit=self._limit, cuts=self._cuts, fills=self._fills
            )
        if self._kept:
            reading.take("".join(self._kept))  # no message is whole with it
            self._kept.clear()
        if self._is_over:
            reading.end()  # its messages were given out
            self._is_over = False
        return reading

    def _look_at(self, reading: ReadText) -> None:
        self._plain_chars, in_lines = reading.plain_chars
        self._may_mean_more = _in_lines if in_lines else _in_a_line
