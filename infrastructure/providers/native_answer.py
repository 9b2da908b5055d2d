"""An answer in a provider's own form, put together from JSON documents; for all such adapters."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import orjson

from turnkeeper.domain.error_report import read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.signals import recognise
from turnkeeper.domain.stream import (
    Finished,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    TextDelta,
    Usage,
)
from turnkeeper.infrastructure.providers.speaker import Speaker

Document = dict[str, Any]


class NativeAnswer(ABC):
    """One answer. Documents go in, events are taken out, and `end` says how it ended.

    A dialect says what its documents mean, in `knows`, `take` and `finished`.

    Attributes:
        is_finished: Whether a reason for the end has come; something may follow.
        is_over: Whether nothing that follows is of use.
        failure: What it failed with, or None so far; nothing more is read then.
        usage: What was counted last, or None.
    """

    def __init__(self, speaker: Speaker) -> None:
        self.is_finished = False
        self.is_over = False
        self.failure: Failure | None = None
        self.usage: Usage | None = None
        self._speaker = speaker
        self._events: list[StreamEvent] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._serving: str | None = None

    @abstractmethod
    def knows(self, document: Document) -> bool:
        """Whether it is a part of an answer, or all of one."""

    @abstractmethod
    def take(self, document: Document) -> None:
        """Take in what is no error; what is not known is passed over."""

    @abstractmethod
    def finished(self) -> Finished:
        """How it ended, once a reason has come; a failing reason is told by `fail`."""

    def closing(self, finished: Finished) -> Iterator[StreamEvent]:
        """What is to be said last, before the usage."""
        return iter(())

    def read(self, document: Document, event: str = "message") -> None:
        """Take in one document of a stream."""
        if document.get("error") or event == "error":
            self.read_error(document, event)
        else:
            self.take(document)

    def read_error(self, body: object, event: str = "message") -> None:
        """Take in an error that came in the place of a part; the first failure counts."""
        report = read_error(
            body,
            provider=self._speaker.provider,
            status=self._speaker.status,
            in_band=True,
            event=event,
        )
        failure = recognise(report, now=self._speaker.now, secrets=self._speaker.secrets)
        self.failure = self.failure or failure

    def fail(self, kind: FailureKind, rule: str, message: str) -> None:
        """Let it fail for what is none of the provider's own errors; the first failure counts."""
        self.failure = self.failure or Failure(
            kind=kind,
            message=message,
            provider=self._speaker.provider,
            status=self._speaker.status,
            rule=rule,
            in_band=True,
        )

    def written(self, arguments: object) -> str:
        """A call's arguments as JSON; empty if there are none, or too deep ones, which fail."""
        if not isinstance(arguments, dict) or not arguments:
            return ""
        try:
            return orjson.dumps(arguments).decode()
        except TypeError:
            self.fail(
                FailureKind.MALFORMED_TOOL_CALL,
                "deep-arguments",
                "the arguments of a call are nested too deeply",
            )
            return ""

    def add_text(self, text: object) -> None:
        """Go on with the visible text, if it is some."""
        if text and isinstance(text, str):
            self._texts.append(text)

    def add_thoughts(self, thoughts: object) -> None:
        """Go on with the thinking, if it is some."""
        if thoughts and isinstance(thoughts, str):
            if self._texts:
                self._flush()
            self._thoughts.append(thoughts)

    def add(self, event: StreamEvent) -> None:
        """Add an event behind what was said so far."""
        self._flush()
        self._events.append(event)

    def served_by(self, model: object) -> None:
        """Note which model really answers."""
        if model and isinstance(model, str) and model != self._serving:
            self._serving = model
            self.add(ServingProvider(model=model))

    def taken(self) -> list[StreamEvent]:
        """The events since the last time; text that came in pieces is one event."""
        self._flush()
        events, self._events = self._events, []
        return events

    def end(self, broken: Failure | None = None) -> Iterator[StreamEvent]:
        """The last events; nothing can be read any more.

        Args:
            broken: How the connection broke; None if it did not.
        """
        if self.failure is None and not self.is_finished:
            self.failure = broken
            self.fail(FailureKind.NETWORK, "cut", "the answer broke off before its end")
        finished = None if self.failure else self.finished()
        yield from self.taken()
        if finished and not self.failure:
            yield from self.closing(finished)
        if self.usage is not None:
            yield self.usage
        if self.failure:
            yield StreamFailed(failure=self.failure)
        elif finished:
            yield finished

    def _flush(self) -> None:
        if self._thoughts:
            self._events.append(ReasoningDelta("".join(self._thoughts)))
            self._thoughts.clear()
        if self._texts:
            self._events.append(TextDelta("".join(self._texts)))
            self._texts.clear()


def count_in(counts: Document, name: str) -> int | None:
    """A count of tokens, or None where there is none."""
    count = counts.get(name)
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    return int(count) if 0 <= count < 2**53 else None


def sum_of(*counts: int | None) -> int | None:
    """All together; None if there is none."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
