"""The words that people read."""

from typing import Protocol


class Catalogue(Protocol):
    """Gives texts by key and locale; a host may put its own in the place of the built-in one."""

    def text(self, key: str, locale: str, **values: object) -> str:
        """The text of that key, its placeholders filled.

        A locale that is not there gives its language, then English; a key that is not there
        gives an empty text.
        """
        ...
