"""One turn's spans, made of its events once it is over."""

from collections.abc import Iterator, Mapping

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.util.types import AttributeValue

from turnkeeper.domain.events import (
    AttemptPrepared,
    Entry,
    FirstProgress,
    InvocationEnded,
    InvocationStarted,
    KeyBooked,
    KeyLeased,
    MessagePosted,
    MessageStuck,
    MessageTakenBack,
    NoKeyLeft,
    ServerRouteAsked,
    SignalHeard,
    ToolRan,
    TurnEnded,
    TurnRefused,
    TurnStarted,
    Waited,
)
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.plan import Attempt
from turnkeeper.infrastructure.journal_codec import name_of
from turnkeeper.infrastructure.telemetry import genai
from turnkeeper.infrastructure.telemetry.event_fields import BAD_ENDS, fields_of

TURN = "turnkeeper.turn"
SHOWN = (
    AttemptPrepared
    | KeyLeased
    | NoKeyLeft
    | KeyBooked
    | MessagePosted
    | MessageTakenBack
    | MessageStuck
    | ServerRouteAsked
    | SignalHeard
    | TurnRefused
    | Waited
)
"""What stands as an event on the turn's span."""

Attributes = Mapping[str, AttributeValue]


@frozen
class PastTurn:
    """A turn that is over.

    Attributes:
        entries: Its journal, in order.
        began_ns: When it began, in nanoseconds of the epoch.
        parent: What it was part of, for its host.
    """

    entries: tuple[Entry, ...]
    began_ns: int
    parent: Context


class TurnTrace:
    """Makes the spans of one turn: the turn, its invocations, and their tools."""

    def __init__(self, tracer: Tracer, past: PastTurn) -> None:
        self._tracer = tracer
        self._past = past
        self._attempts = {one.number: one for one in _attempts(past.entries)}

    def export(self) -> None:
        """Start and end each span at the time at which it did."""
        ended = next((e for e in self._past.entries if isinstance(e.event, TurnEnded)), None)
        if ended is None:
            return
        turn = self._tracer.start_span(
            TURN, context=self._past.parent, start_time=self._ns(0.0), attributes=self._of_turn()
        )
        for entry in self._past.entries:
            if isinstance(entry.event, SHOWN):
                said = _flat(fields_of(entry.event))
                turn.add_event(name_of(type(entry.event)), said, timestamp=self._ns(entry.at_s))
        for started, over in self._invocations():
            self._export_invocation(turn, started, over)
        assert isinstance(ended.event, TurnEnded)
        if ended.event.status in BAD_ENDS:
            _fail(turn, ended.event.status)
        turn.end(end_time=self._ns(ended.at_s))

    def _of_turn(self) -> Attributes:
        said: dict[str, AttributeValue] = {"turnkeeper.turn.id": self._past.entries[0].turn_id}
        for entry in self._past.entries:
            match entry.event:
                case TurnStarted(route=route):
                    said["turnkeeper.route"] = route.value
                case TurnEnded(status=status, success_model=model):
                    said["turnkeeper.status"] = status
                    if model is not None:
                        said["turnkeeper.success_model"] = model
        return said

    def _invocations(self) -> Iterator[tuple[Entry, Entry]]:
        """Where each began and ended; one that was cut off ends with the turn's last entry."""
        ends = {
            entry.event.invocation_no: entry
            for entry in self._past.entries
            if isinstance(entry.event, InvocationEnded)
        }
        for entry in self._past.entries:
            if isinstance(entry.event, InvocationStarted):
                yield entry, ends.get(entry.event.invocation_no, self._past.entries[-1])

    def _export_invocation(self, turn: Span, started: Entry, over: Entry) -> None:
        assert isinstance(started.event, InvocationStarted)
        number = started.event.invocation_no
        attempt = self._attempts.get(started.event.attempt_no)
        model = attempt.model.name if attempt else "unknown"
        span = self._tracer.start_span(
            f"{genai.CHAT} {model}",
            context=set_span_in_context(turn),
            kind=SpanKind.CLIENT,
            start_time=self._ns(started.at_s),
            attributes=self._asked(started.event, attempt),
        )
        for entry in self._past.entries:
            match entry.event:
                case FirstProgress(invocation_no=of, after_s=after_s) if of == number:
                    span.set_attribute(genai.TIME_TO_FIRST_CHUNK, after_s)
                case ToolRan(invocation_no=of) as ran if of == number:
                    self._export_tool(span, ran, entry.at_s)
        if isinstance(over.event, InvocationEnded):
            span.set_attributes(_answered(over.event))
            if over.event.failure is not None:
                _fail(span, over.event.failure.kind.value)
        span.end(end_time=self._ns(over.at_s))

    def _asked(self, started: InvocationStarted, attempt: Attempt | None) -> Attributes:
        said: dict[str, AttributeValue] = {
            genai.OPERATION: genai.CHAT,
            "turnkeeper.attempt": started.attempt_no,
            "turnkeeper.invocation": started.invocation_no,
            "turnkeeper.adjust": started.adjust,
        }
        if started.key_id is not None:
            said["turnkeeper.key_id"] = started.key_id
        if attempt is not None:
            said[genai.PROVIDER] = genai.provider_name(attempt.provider)
            said[genai.REQUEST_MODEL] = attempt.model.name
            said["turnkeeper.route"] = attempt.route.value
        for entry in self._past.entries:
            match entry.event:
                case AttemptPrepared(attempt_no=number, max_output_tokens=int() as most):
                    if number == started.attempt_no:
                        said[genai.MAX_TOKENS] = most
        return said

    def _export_tool(self, parent: Span, ran: ToolRan, noted_s: float) -> None:
        ended_s = noted_s - ran.ended_ago_s
        span = self._tracer.start_span(
            f"{genai.EXECUTE_TOOL} {ran.name}",
            context=set_span_in_context(parent),
            start_time=self._ns(ended_s - ran.took_s),
            attributes={
                genai.OPERATION: genai.EXECUTE_TOOL,
                genai.TOOL_NAME: ran.name,
                genai.TOOL_TYPE: genai.FUNCTION,
                "turnkeeper.tool.state": ran.state,
                "turnkeeper.tool.replayed": ran.replayed,
            },
        )
        if ran.state != "done":
            _fail(span, ran.state)
        span.end(end_time=self._ns(ended_s))

    def _ns(self, at_s: float) -> int:
        return self._past.began_ns + round(at_s * 1e9)


def _attempts(entries: tuple[Entry, ...]) -> Iterator[Attempt]:
    for entry in entries:
        match entry.event:
            case TurnStarted(attempts=attempts) | ServerRouteAsked(attempts=attempts):
                yield from attempts


def _answered(ended: InvocationEnded) -> Attributes:
    said: dict[str, AttributeValue | None] = {
        genai.RESPONSE_MODEL: ended.response_model,
        genai.INPUT_TOKENS: ended.input_tokens,
        genai.OUTPUT_TOKENS: ended.output_tokens,
        "turnkeeper.outcome": ended.outcome,
        "turnkeeper.detail": ended.detail or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _fail(span: Span, error_type: str) -> None:
    span.set_attribute(genai.ERROR_TYPE, error_type)
    span.set_status(Status(StatusCode.ERROR))


def _flat(said: Mapping[str, object]) -> Attributes:
    """What an attribute may be: texts, numbers, and lists of texts."""
    flat: dict[str, AttributeValue] = {}
    for name, value in said.items():
        if isinstance(value, list):
            flat[name] = [str(one) for one in value]
        elif isinstance(value, str | bool | int | float):
            flat[name] = value
    return flat
