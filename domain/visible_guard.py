"""Ends an answer where the model goes on in somebody else's name."""

from collections.abc import Sequence

from turnkeeper.domain.visible_code import CodeWatch

_MARKS = "*_"
_COLONS = ":："


class SpeakerGuard:
    """Watches the lines of a growing text. Used by one thread.

    A label is a known name at a line's start, plain or emphasised, and a colon; not in a block
    of code, a quote or a list. A line is held back while it may become one.
    """

    def __init__(self, speakers: Sequence[str]) -> None:
        self._names = names_of(speakers)
        self._code = CodeWatch()
        self._is_line_start = True
        self._held = ""
        self.is_tripped = False

    @property
    def lets_line_pass(self) -> bool:
        """Whether what is left of the line is shown as it is."""
        return not (self._names and (self._is_line_start or self.is_tripped))

    def take(self, text: str) -> str:
        """Take some more text; what of it is shown."""
        if not self._names:
            return text
        if self.is_tripped:
            return ""
        if not self._is_line_start and "\n" not in text:
            self._code.saw(text)
            return text
        return self._by_lines(self._held + text, is_all=False)

    def end(self) -> str:
        """The text is over: what is still shown. What comes then is a new text."""
        if self.is_tripped:
            return ""
        shown = self._by_lines(self._held, is_all=True)
        self.forget()
        return shown

    def forget(self) -> str:
        """Take back what is held, and return it; what comes then is a new text."""
        held, self._held = self._held, ""
        self._code = CodeWatch()
        self._is_line_start = True
        return held

    def _by_lines(self, text: str, *, is_all: bool) -> str:
        self._held = ""
        shown: list[str] = []
        for line in _lines(text):
            if self._is_line_start and self._code.fence is None:
                label = is_label(line, self._names)
                if label is None and not is_all:
                    self._held = line
                    break
                if label:
                    self.is_tripped = True
                    break
            self._code.saw(line)
            self._is_line_start = line.endswith("\n")
            shown.append(line)
        return "".join(shown)


def names_of(speakers: Sequence[str]) -> tuple[str, ...]:
    """The names as they are compared."""
    return tuple(name.strip().casefold() for name in speakers)


def is_label(line: str, names: tuple[str, ...]) -> bool | None:
    """Whether a line begins with a label; None while that is unknown."""
    text = line.lstrip(" \t").lstrip(_MARKS).removeprefix("@").casefold()
    if not text:
        return None
    is_unknown = False
    for name in names:
        if name.startswith(text):
            is_unknown = True
        elif text.startswith(name):
            after = text[len(name) :].lstrip(_MARKS + " ")
            if after[:1] and after[0] in _COLONS:
                return True
            is_unknown = is_unknown or not after
    return None if is_unknown else False


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
