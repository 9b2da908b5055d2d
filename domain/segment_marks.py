"""What is open in a text that people write in Markdown: emphasis, brackets, quotes, spoilers."""

import re
from collections.abc import Iterator

from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.pattern import lazily

_TOKEN = lazily(r"`+|\*+|~~+|\|\||[()（）\[\]「」『』“”\"]|https?://[^\s<>)]+")
_PARTNERS = {")": "(", "）": "（", "]": "[", "」": "「", "』": "『", "”": "“"}
_EYES = ":;=-'"


@frozen(kw_only=False)
class Marks:
    """What is open.

    Attributes:
        brackets: Brackets and quotes that have two forms, outermost first.
        toggles: Runs that close as they open: `**`, `~~`, `||`, a straight quote, inline code.
    """

    brackets: str = ""
    toggles: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether a cut here would part what belongs together."""
        return bool(self.brackets or self.toggles)

    def after(self, line: str) -> "Marks":
        """What is open after a whole line; only a spoiler outlives its paragraph."""
        if not line.strip():
            return Marks(toggles=tuple(mark for mark in self.toggles if mark == "||"))
        changes = [marks for _, marks in steps(line, self)]
        return changes[-1] if changes else self


NOTHING_OPEN = Marks()


def steps(line: str, marks: Marks, *, is_whole: bool = True) -> Iterator[tuple[int, Marks]]:
    """What is open after each place in a line where that changes, in order.

    Args:
        is_whole: A backtick without a partner is a sign; if not, its partner may still come.
    """
    closed_by = _code_spans(line)
    inside_until = 0
    for found in _TOKEN.finditer(line):
        start, end, token = found.start(), found.end(), found.group()
        if start < inside_until:
            continue
        if token[0] == "`" or token[0] == "h":
            unclosed = 0 if is_whole else len(line)
            inside_until = closed_by.get(start, unclosed) if token[0] == "`" else end
            if inside_until:
                yield start + 1, Marks(marks.brackets, (*marks.toggles, "`"))
                yield inside_until, marks
            continue
        marks = _after_token(line, start, end, marks)
        yield end, marks


def _code_spans(line: str) -> dict[int, int]:
    """Where inline code ends, by where it starts; a run without a partner is no code."""
    if "`" not in line:
        return {}
    ends: dict[int, int] = {}
    next_of: dict[int, int] = {}
    for run in reversed(list(re.finditer(r"`+", line))):
        size = run.end() - run.start()
        if size in next_of:
            ends[run.start()] = next_of[size]
        next_of[size] = run.end()
    return ends


def _after_token(line: str, start: int, end: int, marks: Marks) -> Marks:
    sign = line[start:end]
    before = line[start - 1] if start else " "
    following = line[end] if end < len(line) else " "
    if sign in _PARTNERS:
        return _closed(marks, _PARTNERS[sign])
    if sign in _PARTNERS.values():
        is_mouth = sign == "(" and before in _EYES and following.isspace()
        return marks if is_mouth else replace(marks, brackets=marks.brackets + sign)
    if sign in marks.toggles:
        at = len(marks.toggles) - 1 - marks.toggles[::-1].index(sign)
        return replace(marks, toggles=marks.toggles[:at] + marks.toggles[at + 1 :])
    if following.isspace() or (_is_spaced_word(before) and _is_spaced_word(following)):
        return marks
    if sign == '"' and before.isalnum():
        return marks
    return replace(marks, toggles=(*marks.toggles, sign))


def _closed(marks: Marks, opener: str) -> Marks:
    """One bracket fewer; one that was never opened, as in an emoticon, counts for nothing."""
    at = marks.brackets.rfind(opener)
    if at < 0:
        return marks
    return replace(marks, brackets=marks.brackets[:at] + marks.brackets[at + 1 :])


def _is_spaced_word(sign: str) -> bool:
    """Whether a sign is of a word in a script that puts spaces between words."""
    return sign.isalnum() and sign < "\u2e80"
