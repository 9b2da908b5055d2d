"""An answer, read chunk by chunk in the shape of OpenAI's chat completions."""

from collections.abc import Callable
from typing import Any

from turnkeeper.domain.error_report import ErrorReport, read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import maker
from turnkeeper.domain.signals import recognise, says_output_limit
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    ServingProvider,
    StreamEvent,
    StreamFailed,
    TextDelta,
    Usage,
)
from turnkeeper.infrastructure.providers.openai_finish import failing, reason_of
from turnkeeper.infrastructure.providers.openai_reasoning import (
    ReasoningDetails,
    split,
    thoughts_in,
)
from turnkeeper.infrastructure.providers.openai_tool_calls import ToolCalls
from turnkeeper.infrastructure.providers.openai_usage import usage_of
from turnkeeper.infrastructure.providers.speaker import Speaker

_new_serving_provider = maker(ServingProvider)

_NOBODY = ServingProvider()
_STOPPED = Finished(reason=FinishReason.STOP, raw=("stop",))
_BESIDES = frozenset({"usage", "error", "provider"})  # what a plain chunk does not need


class OpenAIAnswer:
    """One answer. Chunks go in, events are taken out, and `end` says how it ended.

    Args:
        speaker: Says who answers; asked once an error has to be understood.

    Attributes:
        is_finished: Whether a reason for the end has come; a trailer may follow.
        is_over: Whether all has come that is of use; more is not read.
        failure: What it failed with, or None so far; it is over then.
    """

    failure: Failure | None = None
    _refusal = ""
    _words: tuple[str, ...] = ()
    _calls: ToolCalls | None = None
    _details: ReasoningDetails | None = None
    _usage: Usage | None = None
    _serving = _NOBODY
    _model: object = None  # as the last chunk named it

    def __init__(self, speaker: Callable[[], Speaker]) -> None:
        self.is_finished = False
        self.is_over = False
        self._speaker = speaker
        self._events: list[StreamEvent] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._has_text = False

    def read(self, chunk: dict[str, Any], event: str = "message") -> None:
        """Take in one chunk, or a whole answer."""
        if chunk.get("model") != self._model or "provider" in chunk:
            self._read_serving(chunk)
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = usage_of(usage)
        if event == "error" or chunk.get("error"):
            self.read_error(chunk, event)
        elif choices := chunk.get("choices"):
            self._read_choices(choices)
        elif "choices" not in chunk and _is_error(chunk):
            self.read_error(chunk, event)

    def takes(self, chunk: dict[str, Any]) -> bool:
        """Take in a chunk if it is plain: it brings text or a reason to end, and no more.

        Most are, and are to cost little; `read` understands them as well.
        """
        is_bare = _BESIDES.isdisjoint(chunk)
        if not is_bare and (chunk.get("usage") or chunk.get("error")):
            return False
        is_known = chunk.get("model") == self._model
        if not is_known:
            self._read_serving(chunk)
        try:
            (choice,) = chunk["choices"]
            delta, reason = choice["delta"], choice.get("finish_reason")
            text = delta.get("content")
            is_text = type(text) is str
            if len(delta) > is_text and len(delta) > is_text + ("role" in delta):
                return False
            if choice.get("index") or not (is_text or "message" not in choice):
                return False
        except (KeyError, TypeError, ValueError, AttributeError):
            return False
        if not is_bare:
            # Within the text, what chunks repeat besides is not looked at.
            goes_on = is_known and is_text and not reason and (self._has_text or self._texts)
            if not goes_on and (chunk.get("usage") is not None or "provider" in chunk):
                return False
        if text:
            self._texts.append(text)
        if reason:
            self._read_reason(choice)
        return True

    def fail(self, kind: FailureKind, rule: str, message: str) -> None:
        """Let it fail for what is none of the provider's own errors; the first failure counts."""
        self.is_over = True
        speaker = self._speaker()
        self.failure = self.failure or Failure(
            kind=kind,
            message=message,
            provider=speaker.provider,
            status=speaker.status,
            rule=rule,
            in_band=True,
        )

    def read_error(self, body: object, event: str = "message") -> None:
        """Take in an error that came in the place of a chunk, or within one."""
        speaker = self._speaker()
        report = read_error(
            body,
            provider=speaker.provider,
            status=speaker.status,
            in_band=True,
            event=event,
        )
        if not says_output_limit(report):
            self._fail_with(report)
        elif not self.is_finished:
            self._end_with("max_tokens")

    def taken(self) -> list[StreamEvent]:
        """The events since the last time; text that came in pieces is one event."""
        if self._texts or self._thoughts:
            self._flush()
        events, self._events = self._events, []
        return events

    def end(self, broken: Failure | None = None) -> list[StreamEvent]:
        """The last events, the very last of which is terminal; nothing can be read any more.

        Args:
            broken: How the connection broke; None if it did not.
        """
        is_plain = self._words == _STOPPED.raw and self._calls is None and not self._refusal
        last = _STOPPED if is_plain and self.failure is None else self._last(broken)
        events = self.taken()
        if self._usage is not None:
            events.append(self._usage)
        events.append(last)
        return events

    def _read_serving(self, chunk: dict[str, Any]) -> None:
        self._model = named = chunk.get("model")
        if not named:
            return
        before = self._serving
        model, provider = named if isinstance(named, str) else None, before.provider
        if "provider" in chunk:
            provider = _name(chunk["provider"]) or provider
        if model != before.model or provider != before.provider:
            self._serving = _new_serving_provider(provider=provider, model=model)
            self._add(self._serving)

    def _read_choices(self, choices: object) -> None:
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict) and not choice.get("index"):
                    self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if delta and isinstance(delta, dict):
            self._read_delta(delta)
        self._read_reason(choice)

    def _read_reason(self, choice: dict[str, Any]) -> None:
        reason, native = choice.get("finish_reason"), choice.get("native_finish_reason")
        if reason and isinstance(reason, str):
            self._end_with(reason)
            if native and native != reason and isinstance(native, str):
                self._end_with(native)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        text = delta.get("content")
        if type(text) is str and len(delta) == 1 + ("role" in delta):  # nothing else, as mostly
            if text:
                self._texts.append(text)
            return
        thoughts = thoughts_in(delta)
        if isinstance(text, list):
            text, more = split(text)
            thoughts += more
        if thoughts:
            self._add_thoughts(thoughts)
        if text and isinstance(text, str):
            self._texts.append(text)
        if calls := delta.get("tool_calls"):
            self._read_calls(calls)
        if details := delta.get("reasoning_details"):
            self._details = self._details or ReasoningDetails()
            self._details.read(details)
        if (refusal := delta.get("refusal")) and isinstance(refusal, str):
            self._refusal += refusal

    def _read_calls(self, fragments: object) -> None:
        self._calls = self._calls or ToolCalls()
        for call in self._calls.read(fragments):
            self._add(call)

    def _fill_calls(self) -> None:
        """Say what is only known of calls, and of the thinking for them, once they are whole."""
        if self._calls:
            self._events += self._calls.filled()
        if self._details and (opaque := self._details.json()) is not None:
            self._events.append(ReasoningDelta(text="", opaque_json=opaque))

    def _end_with(self, word: str) -> None:
        self.is_finished = True
        self._words += (word,)

    def _add_thoughts(self, thoughts: str) -> None:
        if self._texts:
            self._flush()
        self._thoughts.append(thoughts)

    def _add(self, event: StreamEvent) -> None:
        if self._texts or self._thoughts:
            self._flush()
        self._events.append(event)

    def _flush(self) -> None:
        """Make events of what waits: thoughts first, as text never waits before them."""
        if self._thoughts:
            self._events.append(ReasoningDelta("".join(self._thoughts)))
            self._thoughts.clear()
        if self._texts:
            self._has_text = True
            self._events.append(TextDelta("".join(self._texts)))
            self._texts.clear()

    def _fail_with(self, report: ErrorReport) -> None:
        self.is_over = True
        speaker = self._speaker()
        failure = recognise(report, now=speaker.now, secrets=speaker.secrets)
        self.failure = self.failure or failure

    def _report_of(self, words: list[str]) -> ErrorReport:
        speaker = self._speaker()
        return ErrorReport(
            provider=speaker.provider,
            status=speaker.status,
            code=words[0],
            words=tuple(words[1:]),
            message=f"the answer ended with {' and '.join(words)}",
            in_band=True,
        )

    def _last(self, broken: Failure | None) -> Finished | StreamFailed:
        """How it ended, once whatever only its end tells is among the events."""
        if self.failure is None:
            if not (self.is_over or self.is_finished):
                self.failure = broken
                self.fail(FailureKind.NETWORK, "cut", "the answer broke off before its end")
            elif words := failing(self._words):
                self._fail_with(self._report_of(words))
        return StreamFailed(failure=self.failure) if self.failure else self._finished()

    def _finished(self) -> Finished:
        refusal = self._refusal or None
        reason = reason_of(self._words, has_calls=bool(self._calls))
        if refusal and not (self._has_text or self._texts or self._calls):
            reason = FinishReason.CONTENT_FILTER
        if reason is FinishReason.TOOL_CALLS:
            self._fill_calls()
        return Finished(reason=reason, raw=self._words, refusal=refusal, confirmed=self.is_finished)


def _is_error(chunk: dict[str, Any]) -> bool:
    """Whether what holds no choices is an error without an envelope."""
    return "error" in (chunk.get("object"), chunk.get("type"))


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
