"""What a turn has put on the console so far, in order."""

from collections.abc import Iterable
from enum import Enum

from turnkeeper.domain.frozen import frozen, replace


class Kind(Enum):
    """What a line of the transcript is."""

    MESSAGE = "message"
    TAKEN_BACK = "taken back"
    NOTE = "note"
    ERROR = "error"
    END = "end"


@frozen
class Line:
    """One message, or one thing said about the turn.

    Attributes:
        kind: What it is.
        text: Without control characters.
        message_id: The message's id; empty for what is said about the turn.
    """

    kind: Kind
    text: str
    message_id: str = ""


class Transcript:
    """Lines in order. Used by one thread at a time."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._posted = 0

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, what was taken back among them."""
        return tuple(self._lines)

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that stand."""
        return tuple(line.text for line in self._lines if line.kind is Kind.MESSAGE)

    def post(self, text: str) -> Line:
        """Add a message under an id of its own."""
        self._posted += 1
        line = Line(kind=Kind.MESSAGE, text=printable(text), message_id=f"console-{self._posted}")
        self._lines.append(line)
        return line

    def say(self, kind: Kind, text: str) -> Line:
        """Add a line about the turn."""
        line = Line(kind=kind, text=printable(text))
        self._lines.append(line)
        return line

    def find(self, message_id: str) -> Line | None:
        """The message of that id, if it stands."""
        for line in self._lines:
            if line.message_id == message_id and line.kind is Kind.MESSAGE:
                return line
        return None

    def rewrite(self, line: Line, text: str) -> Line:
        """Let a message say something else."""
        return self._replaced(line, replace(line, text=printable(text)))

    def strike(self, line: Line) -> Line:
        """Mark a message as taken back."""
        return self._replaced(line, replace(line, kind=Kind.TAKEN_BACK))

    def _replaced(self, line: Line, changed: Line) -> Line:
        self._lines[self._lines.index(line)] = changed
        return changed


def printable(text: str) -> str:
    """The text without what could steer a terminal: a model's words are not to be trusted."""
    return "".join(character for character in text if _is_harmless(character))


def shortened(text: str, limit: int = 60) -> str:
    """The text in one line that is not too long."""
    words = " ".join(text.split())
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def joined(parts: Iterable[str]) -> str:
    """The parts that say something, each on its line."""
    return "\n".join(part for part in parts if part)


def _is_harmless(character: str) -> bool:
    return character in "\n\t" or not (character < " " or "\x7f" <= character <= "\x9f")
