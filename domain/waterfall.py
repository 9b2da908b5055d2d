"""A turn as a waterfall: a row for each thing that took time or was seen, in the turn's order."""

from dataclasses import dataclass

from turnkeeper.domain import events
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import TimeoutPhase
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.waterfall_rows import QUIET_S, Row, RowKind, Span, Tone, Waterfall, tone_of

ANSWERED = "Answered"


def waterfall(entries: tuple[Entry, ...]) -> Waterfall:
    """The rows of a turn's journal, also of one that still runs or was cut off."""
    length_s = max((one.at_s for one in entries if not _is_swept(one)), default=0.0)
    drawing = _Drawing(length_s)
    for entry in entries:
        at_s = length_s if _is_swept(entry) else entry.at_s
        drawing.see(entry.event, at_s)
    return Waterfall(rows=drawing.rows(), length_s=length_s)


def _is_swept(entry: Entry) -> bool:
    """Whether another process wrote it; its time is not the turn's own."""
    return isinstance(entry.event, events.TurnSwept)


@dataclass(slots=True)
class _Running:
    """An invocation, and when it last gave a sign of life."""

    row: int
    alive_s: float


class _Drawing:
    """Draws one event after the other; rows that have begun are ended by later events."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._rows: list[Row] = []
        self._attempts: dict[int, Attempt] = {}
        self._keys: dict[int, str] = {}
        self._running: dict[int, _Running] = {}
        self._messages: dict[str, int] = {}

    def rows(self) -> tuple[Row, ...]:
        """What was drawn; what never ended lasts until the turn's end."""
        for running in self._running.values():
            self._hush(running, self._length_s)
        return tuple(self._rows)

    def see(self, event: Event, at_s: float) -> None:
        """Draw one event."""
        match event:
            case events.TurnStarted(attempts=attempts) | events.ServerRouteAsked(attempts=attempts):
                self._attempts |= {attempt.number: attempt for attempt in attempts}
            case events.KeyLeased(key_id=key_id):
                self._key(key_id)
            case events.Waited(attempt_no=number, for_s=for_s, why=why):
                span = Span(max(0.0, at_s - for_s), at_s)
                self._add(RowKind.WAIT, self._model(number), span, Tone.NEUTRAL, f"waited: {why}")
            case events.InvocationStarted():
                self._begin(event, at_s)
            case events.FirstProgress(invocation_no=number, after_s=after_s):
                self._progress(number, at_s, after_s)
            case events.ToolRan():
                self._tool(event, at_s)
            case events.InvocationEnded():
                self._end(event, at_s)
            case _:
                self._see_message(event, at_s)
        if isinstance(event, events.ServerRouteAsked):
            self._note("server route", at_s, _joined(event.answer, event.cause))

    def _see_message(self, event: Event, at_s: float) -> None:
        match event:
            case events.MessagePosted():
                self._post(event, at_s)
            case events.MessageTakenBack(message_id=message_id, late=late):
                says = "taken back, as it came too late" if late else "taken back"
                self._end_message(message_id, at_s, Tone.UNDONE, says)
            case events.MessageStuck(message_id=message_id, cause=cause):
                says = f"stays, could not be taken back: {cause}"
                self._end_message(message_id, self._length_s, Tone.BAD, says)
            case events.TurnSwept(taken_back=taken_back, stuck=stuck):
                for message_id in taken_back:
                    self._end_message(message_id, at_s, Tone.UNDONE, "taken back by a sweep")
                for message_id in stuck:
                    self._end_message(message_id, at_s, Tone.BAD, "stays, could not be taken back")
                says = f"its process died; swept up by {event.by}"
                self._add(RowKind.END, "lost", Span(at_s, at_s), Tone.BAD, says)
            case _:
                self._see_note(event, at_s)

    def _see_note(self, event: Event, at_s: float) -> None:
        match event:
            case events.NoKeyLeft(attempt_no=number, cause=cause, next_in_s=next_in_s):
                back = "" if next_in_s is None else f"the next in {next_in_s:.1f} s"
                said = _joined(cause or "all rest", back)
                self._note(self._model(number), at_s, f"no key: {said}", Tone.BAD)
            case events.AttemptUnpreparable(attempt_no=number, cause=cause):
                self._note(self._model(number), at_s, f"passed over: {cause}", Tone.BAD)
            case events.TurnRefused(kind=kind, cause=cause):
                self._note("refused", at_s, _joined(_words(kind), cause), Tone.BAD)
            case events.SignalHeard(signal=signal):
                self._note("signal", at_s, f"heard: {_words(signal)}")
            case events.Said(what=what, to=to):
                self._note("notice", at_s, f"told the {to}: {_words(what)}")
            case events.EffectFailed(effect=effect, cause=cause):
                self._note("on the side", at_s, f"{effect} did not work: {cause}", Tone.BAD)
            case events.TurnEnded(status=status, success_model=model):
                says = f"{_words(status)} by {model}" if model else _words(status)
                self._add(RowKind.END, "end", Span(at_s, at_s), tone_of(status), says)

    # ── invocations ─────────────────────────────────────────────────────────────────────────

    def _begin(self, event: events.InvocationStarted, at_s: float) -> None:
        key = "without a key" if event.key_id is None else self._key(event.key_id)
        label = f"{self._model(event.attempt_no)}, {key}"
        changed = "" if event.adjust == "AsIs" else f", changed: {_words(event.adjust)}"
        span = Span(at_s, self._length_s)
        self._running[event.invocation_no] = _Running(row=len(self._rows), alive_s=at_s)
        self._add(RowKind.INVOCATION, label, span, Tone.NEUTRAL, f"did not end{changed}")

    def _progress(self, number: int, at_s: float, after_s: float) -> None:
        running = self._running.get(number)
        if running is None:
            return
        self._hush(running, at_s)
        row = self._rows[running.row]
        first_s = min(at_s, row.span.from_s + after_s)
        self._rows[running.row] = replace(row, first_progress_s=first_s)

    def _tool(self, event: events.ToolRan, at_s: float) -> None:
        end_s = max(0.0, at_s - event.ended_ago_s)
        span = Span(max(0.0, end_s - event.took_s), end_s)
        running = self._running.get(event.invocation_no)
        if running is not None:
            self._hush(running, span.from_s)
            running.alive_s = max(running.alive_s, at_s)
        tone = {"done": Tone.GOOD, "failed": Tone.BAD}.get(event.state, Tone.NEUTRAL)
        replayed = ", answered from an earlier run" if event.replayed else ""
        self._add(RowKind.TOOL, event.name, span, tone, f"{_words(event.state)}{replayed}")

    def _end(self, event: events.InvocationEnded, at_s: float) -> None:
        running = self._running.pop(event.invocation_no, None)
        if running is None:
            return
        self._hush(running, at_s, was_silent=event.detail == TimeoutPhase.SILENCE.value)
        row = self._rows[running.row]
        says = _words(event.outcome)
        if event.failure is not None:
            said = f"{event.failure.status} " if event.failure.status else ""
            says = _joined(f"{_words(event.failure.kind.value)} {said}".strip(), event.detail)
        tone = Tone.GOOD if event.outcome == ANSWERED else Tone.NEUTRAL
        tone = Tone.BAD if event.failure is not None else tone
        changed = row.says.removeprefix("did not end")
        ended = replace(row, span=Span(row.span.from_s, at_s), tone=tone, says=says + changed)
        self._rows[running.row] = ended

    def _hush(self, running: _Running, until_s: float, *, was_silent: bool = False) -> None:
        """Mark the stretch since the last sign of life, and that there is one now.

        Between the first progress and a message text may have come of which the journal keeps
        nothing, unless it says itself that there was silence.
        """
        row = self._rows[running.row]
        is_known = was_silent or row.first_progress_s is None
        if is_known and until_s - running.alive_s >= QUIET_S:
            quiet = (*row.quiet, Span(running.alive_s, until_s))
            self._rows[running.row] = replace(row, quiet=quiet)
        running.alive_s = max(running.alive_s, until_s)

    # ── messages and notes ──────────────────────────────────────────────────────────────────

    def _post(self, event: events.MessagePosted, at_s: float) -> None:
        running = self._running.get(event.invocation_no)
        if running is not None:
            self._hush(running, at_s)
        self._messages[event.message_id] = len(self._rows)
        span = Span(at_s, self._length_s)
        label = f"message {event.message_id}"
        says = f"kept ({event.origin}, {event.chars} characters)"
        self._add(RowKind.DELIVERY, label, span, Tone.GOOD, says)

    def _end_message(self, message_id: str, at_s: float, tone: Tone, says: str) -> None:
        number = self._messages.get(message_id)
        if number is None:
            return
        row = self._rows[number]
        self._rows[number] = replace(row, span=Span(row.span.from_s, at_s), tone=tone, says=says)

    def _note(self, label: str, at_s: float, says: str, tone: Tone = Tone.NEUTRAL) -> None:
        self._add(RowKind.NOTE, label, Span(at_s, at_s), tone, says)

    def _add(self, kind: RowKind, label: str, span: Span, tone: Tone, says: str) -> None:
        self._rows.append(Row(kind=kind, label=label, span=span, tone=tone, says=says))

    def _model(self, number: int) -> str:
        attempt = self._attempts.get(number)
        return f"attempt {number}" if attempt is None else attempt.model.name

    def _key(self, key_id: int) -> str:
        """Keys are lettered as the turn meets them; the number is what `key list` shows."""
        letter = chr(ord("A") + len(self._keys)) if len(self._keys) < 26 else str(len(self._keys))
        return self._keys.setdefault(key_id, f"key {letter} (no. {key_id})")


def _joined(text: str, more: str) -> str:
    return f"{text}, {more}" if more else text


def _words(name: str) -> str:
    """A name from the code, as people write it."""
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return spaced.replace("_", " ")
