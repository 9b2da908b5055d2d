"""An answer of NovelAI's own text API.

Source: NovelAI's API documentation; an answer as clients of it describe it.
"""

import re

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.stream import Finished, FinishReason
from turnkeeper.infrastructure.providers.native_answer import Document, NativeAnswer
from turnkeeper.infrastructure.providers.speaker import Speaker

_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]*_]*(?=\s|$)|\n")


@frozen
class Expected:
    """What was asked for, as the answer does not say why it ended.

    Attributes:
        max_length: The longest answer in tokens.
        stops: The texts that end it, which the API itself takes only as tokens.
        goes_on: Whether it goes on with a given beginning.
    """

    max_length: int
    stops: tuple[str, ...] = ()
    goes_on: bool = False


class NovelAiAnswer(NativeAnswer):
    """Read from one document a token, whatever its event is called."""

    def __init__(self, speaker: Speaker, expected: Expected) -> None:
        super().__init__(speaker)
        self._expected = expected
        self._token_count = 0
        self._held = ""  # what may be the beginning of a stop
        self._said: list[str] = []
        self._is_stopped = False

    def knows(self, document: Document) -> bool:
        return "token" in document or "output" in document

    def take(self, document: Document) -> None:
        if not self.knows(document):
            if "message" in document:
                self.read_error(document)
            return
        text = document.get("token", document.get("output"))
        if isinstance(text, str):
            self._token_count += 1
            self._hear(text)
        if document.get("final") or "output" in document:
            self._end()

    def finished(self) -> Finished:
        is_cut = self._token_count >= self._expected.max_length and not self._is_stopped
        if not is_cut:
            return Finished(reason=FinishReason.STOP)
        return Finished(reason=FinishReason.LENGTH, continuation=_unfinished("".join(self._said)))

    def _hear(self, token: str) -> None:
        text = self._held + token
        places = [at for stop in self._expected.stops if (at := text.find(stop)) >= 0]
        if places:
            self._held = text[: min(places)]
            self._is_stopped = True
            self._end()
            return
        held = max((_overlap(text, stop) for stop in self._expected.stops), default=0)
        self._held = text[len(text) - held :]
        self._say(text[: len(text) - held])

    def _end(self) -> None:
        self._say(self._held)
        self._held = ""
        self.is_finished = self.is_over = True

    def _say(self, text: str) -> None:
        if not (self._said or self._expected.goes_on):
            text = text.lstrip()  # it follows the name of who speaks
        if text:
            self._said.append(text)
            self.add_text(text)


def _overlap(text: str, stop: str) -> int:
    """How much of the text's end is the beginning of a stop."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)


def _unfinished(text: str) -> str | None:
    """What stands behind the last whole sentence."""
    end = max((found.end() for found in _SENTENCE_END.finditer(text)), default=0)
    return text[end:].strip() or None
