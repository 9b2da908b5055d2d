"""A tool call that a model writes as a JSON object, read while it is being written."""

import json
import re

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.incoming_json import NoCall, Words, expect, nested, string, value, word
from turnkeeper.domain.incoming_text import IncomingText, Waiting
from turnkeeper.domain.tool_calls import NO_ARGUMENTS

UNENDED = "{"
"""The arguments of a call that broke off before them: nobody takes them for whole."""

_MOST_NESTED = 2
_NOT_SPACE = re.compile(r"\S")


@frozen
class WrittenCall:
    """A call as far as it was written.

    Attributes:
        name: The tool, or as much of its name as there is.
        arguments_json: The arguments, which are no JSON where they broke off.
    """

    name: str
    arguments_json: str


_NAME = frozenset(
    {"name", "tool", "tool_name", "function", "function_name", "tool_call", "function_call"}
)
_ARGUMENTS = frozenset({"arguments", "parameters", "args", "params", "input", "tool_input"})
_LIST = frozenset({"tool_calls", "function_calls"})
_IDS = frozenset({"id", "call_id", "tool_call_id", "index"})
_KEYS = Words(_NAME | _ARGUMENTS | _LIST | _IDS | {"type"})
_TYPES = Words(("function", "function_call", "tool", "tool_call", "tool_use"))


class Draft:
    """One object that may be a call. It is given up at the first sign that it is none.

    Attributes:
        has_begun: Whether it has come to what only calls have.
        is_list: Whether it is no call, but the beginning of a list of calls.
    """

    def __init__(self, text: IncomingText, names: Words) -> None:
        self.has_begun = False
        self.is_list = False
        self._text = text
        self._names = names
        self._name = ""
        self._name_from: int | None = None
        self._arguments: str | None = None
        self._arguments_from: int | None = None
        self._has_key = False
        self._has_more = False  # keys that calls do not have

    @property
    def has_name(self) -> bool:
        """Whether a name has begun that may still become an offered tool's."""
        if self._name_from is None:
            return False
        return bool(self._name or self._text.since(self._name_from))

    def read(self) -> Waiting[None]:
        """Read the object to its end.

        Raises:
            NoCall: It is no call; the character that says so is not read yet.
        """
        yield from self._text.next()
        yield from self._members(0)
        if not self.is_list and not self._is_call:
            raise NoCall

    def so_far(self) -> WrittenCall:
        """The call, whether or not it has come to its end."""
        name, arguments = self._name, self._arguments
        if not name and self._name_from is not None:
            name = self._text.since(self._name_from)
        if arguments is None and self._arguments_from is not None:
            arguments = self._text.since(self._arguments_from)
        return WrittenCall(name=name, arguments_json=arguments or UNENDED)

    def whole(self) -> WrittenCall:
        """The call, now that it has come to its end."""
        return WrittenCall(name=self._name, arguments_json=self._arguments or NO_ARGUMENTS)

    @property
    def _is_call(self) -> bool:
        return bool(self._name) and (self._arguments is not None or not self._has_more)

    def _members(self, depth: int) -> Waiting[None]:
        while True:
            char = yield from self._text.until(_NOT_SPACE)
            if char == "}" and self._has_key:
                yield from self._text.next()
                return
            yield from self._member(depth)
            if self.is_list:
                return
            char = yield from self._text.until(_NOT_SPACE)
            if char == ",":
                yield from self._text.next()
            elif char != "}":
                if self._name and self._arguments is not None:
                    return  # all there is to it has come, but for a brace
                raise NoCall

    def _member(self, depth: int) -> Waiting[None]:
        yield from expect(self._text, '"')
        key = yield from self._key()
        self._has_key = True
        yield from self._text.until(_NOT_SPACE)
        yield from expect(self._text, ":")
        char = yield from self._text.until(_NOT_SPACE)
        if key in _ARGUMENTS:
            yield from self._read_arguments()
        elif self._name or key in _IDS:
            yield from value(self._text)
        elif key in _LIST:
            yield from self._begin_list(depth)
        elif key == "type":
            yield from expect(self._text, '"')
            yield from word(self._text, _TYPES)
        elif char == "{" and depth < _MOST_NESTED:
            self.has_begun = True
            yield from self._text.next()
            yield from self._members(depth + 1)
        else:
            yield from self._read_name()

    def _key(self) -> Waiting[str]:
        """A key that calls have; of a call that has its name already, any."""
        if not self._name:
            return (yield from word(self._text, _KEYS))
        mark = self._text.mark
        yield from string(self._text)
        key = self._text.since(mark)[:-1]
        self._has_more = self._has_more or key not in _KEYS.whole
        return key

    def _begin_list(self, depth: int) -> Waiting[None]:
        if depth:
            raise NoCall
        yield from expect(self._text, "[")
        self.has_begun = self.is_list = True

    def _read_name(self) -> Waiting[None]:
        yield from expect(self._text, '"')
        self.has_begun = True
        self._name_from = self._text.mark
        self._name = yield from word(self._text, self._names)

    def _read_arguments(self) -> Waiting[None]:
        self.has_begun = True
        self._arguments, self._arguments_from = None, self._text.mark
        if self._name:
            yield from value(self._text)
        elif (yield from self._text.peek()) == '"':
            yield from self._text.next()
            yield from expect(self._text, "{")
            yield from string(self._text)
        else:
            yield from expect(self._text, "{")
            yield from nested(self._text, 1)
        self._arguments = _unpacked(self._text.since(self._arguments_from))


def _unpacked(raw: str) -> str:
    """Arguments as JSON of their own: some come as a text that holds it, or with bare newlines."""
    for strict in (True, False):
        try:
            value = json.loads(raw, strict=strict)
        except (ValueError, RecursionError):
            continue
        if value is None or value == "":
            return NO_ARGUMENTS
        if isinstance(value, str):
            return value
        return raw if strict else json.dumps(value, ensure_ascii=False)
    return raw
