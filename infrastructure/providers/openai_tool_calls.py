"""Tool calls, put together from the pieces in which they stream."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import orjson

from turnkeeper.domain.stream import ToolCallDelta


class ToolCalls:
    """The calls of one answer.

    They are counted from 0 in the order in which they begin, since providers begin anywhere, use
    one index for several calls, or give none.
    """

    def __init__(self) -> None:
        self._indexes: dict[tuple[object, str], int] = {}  # by the provider's index and id
        self._last: dict[object, int] = {}  # by the provider's index
        self._empty: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def read(self, fragments: object) -> Iterator[ToolCallDelta]:
        """The deltas of one chunk's fragments."""
        if not isinstance(fragments, list):
            return
        for fragment in fragments:
            if isinstance(fragment, dict) and (delta := self._delta(fragment)):
                yield delta

    def filled(self) -> Iterator[ToolCallDelta]:
        """An empty object for each whole call that came without arguments."""
        for index in sorted(self._empty):
            yield ToolCallDelta(index=index, arguments="{}")

    def _delta(self, fragment: dict[str, Any]) -> ToolCallDelta | None:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = _arguments(function.get("arguments"))
        place, call_id = fragment.get("index"), str(fragment.get("id") or "")
        place = place if isinstance(place, int | str) else None
        name = str(function.get("name") or "")
        known = self._known(place, call_id, begins=bool(name))
        if known is None:
            return self._begun(place, call_id, name, arguments)
        if not arguments:
            return None
        self._empty.discard(known)
        return ToolCallDelta(index=known, arguments=arguments)

    def _known(self, place: object, call_id: str, *, begins: bool) -> int | None:
        """The call that a fragment belongs to, or None if it begins one."""
        if call_id and (place, call_id) in self._indexes:
            return self._indexes[place, call_id]
        if begins and (call_id or place is None):
            return None
        return self._last.get(place)

    def _begun(self, place: object, call_id: str, name: str, arguments: str) -> ToolCallDelta:
        index = len(self._indexes)
        call_id = call_id or f"call_{uuid4().hex[:24]}"
        self._indexes[place, call_id] = index
        self._last[place] = index
        if not arguments:
            self._empty.add(index)
        return ToolCallDelta(index=index, call_id=call_id, name=name, arguments=arguments)


def _arguments(value: object) -> str:
    """Arguments as text: an object is written out, and null means none."""
    if value is None or value == "null":
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
