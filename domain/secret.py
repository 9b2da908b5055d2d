"""Secrets that never print, and the sealed form in which they are stored."""

from hmac import compare_digest
from typing import Never, Self

from turnkeeper.domain.frozen import frozen


class Secret:
    """A text that shows itself only to `reveal`: not to repr, str, format or pickle.

    Raises:
        ValueError: The text is empty.
    """

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        if not text:
            raise ValueError("a secret must not be empty")
        object.__setattr__(self, "_text", text)

    @classmethod
    def pasted(cls, text: str) -> Self:
        """Return the secret that a person pasted, without the white space around it.

        Raises:
            ValueError: Nothing is left, or a character inside is not printable ASCII; the message
                gives its position and never the text.
        """
        trimmed = text.strip().strip("\ufeff\u200b").strip()
        for position, character in enumerate(trimmed, start=1):
            if not "!" <= character <= "~":
                raise ValueError(
                    f"character {position} of the secret is not a visible ASCII character:"
                    " copy the key again, by itself, in one line"
                )
        return cls(trimmed)

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(_encoded(self._text), _encoded(other._text))

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a secret does not change, so {name!r} cannot be set")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> Never:
        raise TypeError("a secret is not pickled: seal it with the vault, or reveal it on purpose")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@frozen
class Sealed:
    """A secret as it is stored: unreadable, and of no use in another row.

    Attributes:
        version: Number of the master secret that opens it; at least 1.
        data: What the vault wrote; opaque to everybody else.
    """

    version: int
    data: bytes

    def __post_init__(self) -> None:
        if self.version < 1:
            raise ValueError(f"version is {self.version}, must be at least 1")
