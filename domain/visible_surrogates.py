"""Halves of characters, as JSON escapes bring them."""

REPLACEMENT = "\ufffd"


class Surrogates:
    """Joins halves that come apart, and replaces those that stay alone. Used by one thread."""

    def __init__(self) -> None:
        self._half = ""

    @property
    def has_half(self) -> bool:
        """Whether half a character waits for the other."""
        return bool(self._half)

    def take(self, piece: str) -> str:
        """Take some more text; a half at its end waits for the other."""
        if not self._half and (piece.isascii() or _is_sound(piece)):
            return piece
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _joined(text)

    def end(self) -> str:
        """The text is over: what became of a half that was left."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def _is_sound(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
