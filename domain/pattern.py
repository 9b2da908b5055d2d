"""Regular expressions that are compiled when they are first used: a process needs few of them."""

import re
from typing import Any, cast


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, not compiled before anything of it but its text is asked for."""
    return cast(re.Pattern[str], _Lazy(pattern, flags))


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """What the expression has by that name; it is kept, so that this is asked once."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value
