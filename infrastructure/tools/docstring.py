"""What a function's docstring tells a model."""

import re
from collections.abc import Mapping
from dataclasses import field
from inspect import cleandoc
from types import MappingProxyType

from turnkeeper.domain.frozen import frozen

_SECTION = re.compile(
    r"^(Args|Arguments|Attributes|Examples?|Notes?|Raises|Returns|Source|Yields):[ \t]*$",
    re.MULTILINE,
)
_ARGUMENTS = ("Args", "Arguments")
_ENTRY = re.compile(
    r"^(?P<name>\w+)(?: \([^)\n]*\))?:[ \t]*(?P<text>.*(?:\n[ \t]+.*)*)", re.MULTILINE
)


@frozen
class Docstring:
    """A docstring in Google's style.

    Attributes:
        description: All before its first section.
        arguments: What its section of arguments says of each.
    """

    description: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str | None) -> "Docstring":
        """The parts of the text; None is an empty one."""
        head, *sections = _SECTION.split(cleandoc(text or ""))
        entries = (
            entry
            for title, body in zip(sections[::2], sections[1::2], strict=True)
            if title in _ARGUMENTS
            for entry in _ENTRY.finditer(cleandoc(body))
        )
        described = {entry["name"]: " ".join(entry["text"].split()) for entry in entries}
        return cls(description=head.strip(), arguments=MappingProxyType(described))
