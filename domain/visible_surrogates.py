"""Halves of characters, as JSON escapes bring them."""

REPLACEMENT = "\ufffd"


class Surrogates:
    """Joins halves that come apart, and replaces those that stay alone. Used by one thread.

    Attributes:
        half: What waits for its other half, or nothing.
    """

    def __init__(self) -> None:
        self.half = ""

    def take(self, piece: str) -> str:
        """Take some more text; a half at its end waits for the other."""
        if not self.half and (piece.isascii() or _is_sound(piece)):
            return piece
        text = self.half + piece
        self.half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        return _joined(text)

    def end(self) -> str:
        """The text is over: what became of a half that was left."""
        half, self.half = self.half, ""
        return REPLACEMENT if half else ""


def _is_sound(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
