"""Answers in which a model writes its tool calls as text."""

from collections.abc import Iterable, Iterator
from uuid import uuid4

from turnkeeper.domain.frozen import replace
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
)
from turnkeeper.domain.verbatim_calls import Piece, VerbatimCalls
from turnkeeper.domain.written_call import WrittenCall

_WHOLE = (FinishReason.STOP, FinishReason.TOOL_CALLS)


class VerbatimAnswer:
    """One answer whose text is read for calls."""

    def __init__(self, names: Iterable[str]) -> None:
        self._reading = VerbatimCalls(names)
        self._indexes: dict[int, int] = {}  # of calls that came as such, if any did
        self._calls = 0

    def read(self, events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
        """The events, with the calls that the text holds as calls."""
        try:
            for event in events:
                match event:
                    case TextDelta(text=text):
                        # Where all is held back, it is still known that something came.
                        yield from self._told(self._reading.feed(text)) or (TextDelta(""),)
                    case ToolCallDelta():
                        yield replace(event, index=self._index(event.index))
                    case Finished(reason=reason):
                        yield from self._told(self._reading.end(was_cut=reason not in _WHOLE))
                        yield self._finished(event)
                    case StreamFailed():
                        yield from self._told(self._reading.end(was_cut=True))
                        yield event
                    case _:
                        yield event
        finally:
            getattr(events, "close", _nothing)()

    def _told(self, pieces: list[Piece]) -> list[StreamEvent]:
        """The pieces as events; none where all is held back."""
        return [TextDelta(one) if isinstance(one, str) else self._call(one) for one in pieces]

    def _call(self, call: WrittenCall) -> ToolCallDelta:
        index, self._calls = self._calls, self._calls + 1
        return ToolCallDelta(
            index=index,
            call_id=f"call_{uuid4().hex[:24]}",
            name=call.name,
            arguments=call.arguments_json,
        )

    def _index(self, given: int) -> int:
        """The place of a call that came as one, among those that were written."""
        if given not in self._indexes:
            self._indexes[given], self._calls = self._calls, self._calls + 1
        return self._indexes[given]

    def _finished(self, event: Finished) -> Finished:
        if self._calls and event.reason is FinishReason.STOP:
            return replace(event, reason=FinishReason.TOOL_CALLS)
        return event


def _nothing() -> None:
    """An iterator that has nothing to close."""
