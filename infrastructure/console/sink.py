"""A sink that speaks to whoever sits at the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console

from turnkeeper.application.ports.sink import Sink, Spoken, Target
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult, TurnStatus
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.console.screen import LiveScreen, PlainScreen, Screen
from turnkeeper.infrastructure.console.terminal import Terminal
from turnkeeper.infrastructure.console.transcript import Kind, Transcript, joined

MAX_CHARS = 4000
EDIT_INTERVAL_S = 0.1


class ConsoleSink(Sink):
    """Writes one turn's messages, takes them back visibly, and ends with what happened.

    On a terminal, messages grow in place and are struck through when they are taken back.
    Elsewhere each is printed when it is whole, and a line says that it was taken back.

    Args:
        console: Where to write; None for the standard output.
        live: Whether messages are drawn anew in place; None for where there is a terminal.
        grows: Whether messages grow as the answer comes; None for where they are drawn in place.
    """

    def __init__(
        self,
        console: Console | None = None,
        *,
        live: bool | None = None,
        grows: bool | None = None,
    ) -> None:
        self._console = console or Terminal()
        self._is_live = self._console.is_terminal if live is None else live
        self._grows = self._is_live if grows is None else grows
        self._lock = Lock()  # guards the two below: deleting may come from another thread
        self._transcript = Transcript()
        self._screen: Screen | None = None
        self._is_over = False

    @property
    def can_take_back(self) -> bool:
        return True

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages that stand."""
        with self._lock:
            return self._transcript.messages

    def prepare(self, request: TurnRequest) -> Target:
        return Target(
            channel_id=request.channel_id,
            max_chars=MAX_CHARS,
            edit_interval_s=EDIT_INTERVAL_S if self._grows else None,
        )

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        with self._writing() as screen:
            line = self._transcript.post(text)
            screen.added(line)
        return Delivery(
            message_id=line.message_id, channel_id=target.channel_id, text=text, origin=origin
        )

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        with self._writing() as screen:
            before = self._transcript.find(delivery.message_id)
            if before is None:
                raise SinkError(f"message {delivery.message_id} is not there any more")
            after = self._transcript.rewrite(before, text)
            screen.changed(before, after)
        return replace(delivery, text=text)

    def take_back(self, delivery: Delivery) -> bool:
        with self._writing() as screen:
            before = self._transcript.find(delivery.message_id)
            if before is not None:
                screen.changed(before, self._transcript.strike(before))
        return True

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        self._say(Kind.ERROR, spoken)

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        self._say(Kind.ERROR, spoken)

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        self._say(Kind.NOTE, spoken)

    def tell(self, spoken: Spoken) -> None:
        self._say(Kind.NOTE, spoken)

    def finalize(self, result: TurnResult) -> None:
        with self._writing() as screen:
            screen.added(self._transcript.say(Kind.END, _end_of(result)))
            self._is_over = True

    def cleanup(self) -> None:
        with self._lock:
            self._is_over = True
            if self._screen is not None:
                self._screen.close()

    def _say(self, kind: Kind, spoken: Spoken) -> None:
        with self._writing() as screen:
            text = joined((spoken.title, spoken.text, *spoken.tips))
            screen.added(self._transcript.say(kind, text))

    @contextmanager
    def _writing(self) -> Iterator[Screen]:
        """The screen, for one change; what the terminal refuses becomes ours."""
        with self._lock:
            if self._is_over:
                raise SinkError("the turn is over; nothing more is written")
            try:
                if self._screen is None:
                    self._screen = self._opened()
                yield self._screen
            except BrokenPipeError as error:
                raise DestinationGone("nobody reads the output any more", code="EPIPE") from error
            except OSError as error:
                raise SinkError(f"the output cannot be written: {error.strerror}") from error

    def _opened(self) -> Screen:
        if self._is_live:
            return LiveScreen(self._console, self._transcript)
        return PlainScreen(self._console, grows=self._grows)


def _end_of(result: TurnResult) -> str:
    """What happened, in a line."""
    model = result.success_model
    usage = result.usage
    parts = (
        f"{model.name} answered" if model else _ENDS.get(result.status, result.status.value),
        f"after {len(result.failures)} failed" if model and result.failures else "",
        f"{usage.output_tokens} tokens" if usage and usage.output_tokens else "",
        f"turn {result.turn_id}",
    )
    return " · ".join(part for part in parts if part)


_ENDS = {
    TurnStatus.ERROR: "no answer",
    TurnStatus.TIMEOUT: "no answer in time",
    TurnStatus.EMPTY_RESPONSE: "nothing came",
    TurnStatus.STOPPED_BY_USER: "stopped",
    TurnStatus.FOLLOW_UP_INTERRUPT: "interrupted",
    TurnStatus.SKIPPED: "not asked",
}
