"""From what a model said to messages: pure, one answer a time."""

import re

from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.visible_reading import NONE, ReadText

_may_mean_more = re.compile(r"[<\n\ud800-\udfff]").search


class VisibleText:
    """One invocation's text, taken piece by piece. Used by one thread.

    Most pieces neither begin nor end anything and still fit into the message. They are only kept,
    and read together with the next that may; so a short answer is mostly never read at all.

    Args:
        limit: The longest message, in code points.
        cuts: Whether messages are cut as the text comes; if not, only where it ends.
        fills: Whether a message ends only when the next character would not fit.

    Attributes:
        is_guarded: Whether another speaker's label ended the answer; nothing is taken any more.
    """

    def __init__(
        self, rules: TextRules, *, limit: int, cuts: bool = True, fills: bool = False
    ) -> None:
        self.is_guarded = False
        self._rules = rules
        self._limit = limit
        self._cuts = cuts
        self._fills = fills
        self._reading: ReadText | None = None
        self._kept: list[str] = []  # what comes behind what was read
        self._is_over = False  # the end came behind what is kept
        watches = rules.speakers or rules.dedupe_from is not None
        self._plain_chars = NONE if watches else limit  # so many more are only kept

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
        if chars <= self._plain_chars and _may_mean_more(piece) is None:
            self._plain_chars -= chars
            self._kept.append(piece)
            return ()
        reading = self._all_read()
        messages = reading.take(piece)
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
        self._plain_chars = reading.plain_chars
        self.is_guarded = reading.is_guarded
