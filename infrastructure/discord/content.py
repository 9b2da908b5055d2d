"""What of a text Discord takes and shows."""

import re
import unicodedata

MAX_CHARS = 2000
MAX_NAME_CHARS = 80
CUT_MARK = "…"

# Letters and symbols that show nothing, beside what Unicode itself calls a space or a control.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})
_FORBIDDEN = re.compile("clyde|discord", re.IGNORECASE)


def is_visible(text: str) -> bool:
    """Whether anybody would see anything of it."""
    return any(not _is_unseen(character) for character in text)


def _is_unseen(character: str) -> bool:
    if unicodedata.category(character) in _UNSEEN or character in _BLANKS:
        return True
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def fitted(text: str, limit: int = MAX_CHARS) -> str:
    """The text, cut where Discord would refuse all of it; it counts code points, as `len` does."""
    clean = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return clean if len(clean) <= limit else clean[: limit - len(CUT_MARK)] + CUT_MARK


def speaker_name(name: str, *, fallback: str = "User") -> str:
    """A name that a webhook may speak under."""
    masked = _FORBIDDEN.sub(lambda found: found[0][:2] + "*" + found[0][3:], name)
    return fitted(masked, MAX_NAME_CHARS).strip() if is_visible(masked) else fallback
