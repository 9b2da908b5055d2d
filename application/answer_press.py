"""Answers whoever presses a button of a notice or of a running turn, in time."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from turnkeeper.application.ports.catalogue import Catalogue
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.runner import Runner, StillRunning
from turnkeeper.application.ports.signals import Signals
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import Closed, StoreError
from turnkeeper.domain.notice import MAX_TITLE_CHARS, NoticeDetails, NoticeExpired
from turnkeeper.domain.press import (
    DETAILS_BUTTON,
    MAX_MESSAGE_CHARS,
    MAX_MODAL_CHARS,
    OpenModal,
    Press,
    Reply,
    StopButton,
    Whisper,
)

T = TypeVar("T")

WITHIN_S = 2.0
"""Of the three seconds that a press waits for its answer; the rest is for the way."""

MAX_RUNNING = 32
"""About how many looks at the store may be under way; one that hangs gets no more of them."""


class AnswerPress:
    """Says what is to be answered. Every press is answered, whatever becomes of the store.

    Args:
        within_s: How long the store may take.
    """

    def __init__(
        self,
        *,
        notices: Notices,
        signals: Signals,
        catalogue: Catalogue,
        runner: Runner,
        within_s: float = WITHIN_S,
    ) -> None:
        self._notices = notices
        self._signals = signals
        self._catalogue = catalogue
        self._runner = runner
        self._within_s = within_s
        self._under_way: set[object] = set()

    def __call__(self, press: Press) -> Reply:
        """The answer to a press."""
        try:
            return self._answer(press)
        except (StoreError, StillRunning, Closed):
            return self._whisper("press.store", press)

    def _answer(self, press: Press) -> Reply:
        if press.is_sent:
            return self._whisper("press.read", press)
        if press.button == DETAILS_BUTTON:
            found = self._in_time(partial(self._notices.find, press.message_id))
            return self._shown(found, press)
        stop = StopButton.of(press.button)
        if stop is None:
            return self._whisper("press.unknown", press)
        return self._stop(stop, press)

    def _shown(self, found: NoticeDetails | NoticeExpired | None, press: Press) -> Reply:
        match found:
            case None:
                return self._whisper("press.unknown", press)
            case NoticeExpired():
                return self._whisper("press.expired", press)
            case NoticeDetails():
                return shown(found, partial(self._more, press))

    def _stop(self, stop: StopButton, press: Press) -> Reply:
        if not stop.obeys(press):
            return self._whisper("press.not_yours", press)
        send = partial(
            self._signals.send, stop.turn_id, Signal.STOP_REQUESTED, sender=press.user_id
        )
        is_running = self._in_time(send)
        return self._whisper("press.stopped" if is_running else "press.not_running", press)

    def _in_time(self, ask: Callable[[], T]) -> T:
        """What the store says, if it says it in time.

        Raises:
            StillRunning: It does not; what was asked of it may still be done.
            StoreError: It cannot.
        """
        if len(self._under_way) >= MAX_RUNNING:
            raise StillRunning(f"{MAX_RUNNING} presses are waiting for the store")
        ticket = object()
        self._under_way.add(ticket)

        def look() -> T:
            try:
                return ask()
            finally:
                self._under_way.discard(ticket)

        try:
            work = self._runner.start(lambda stop: look(), "press")
        except BaseException:
            self._under_way.discard(ticket)
            raise
        return work.result(self._within_s)

    def _whisper(self, key: str, press: Press) -> Whisper:
        return Whisper(text=self._text(key, press))

    def _more(self, press: Press, count: int) -> str:
        return self._text("notice.more", press, count=count)

    def _text(self, key: str, press: Press, **values: object) -> str:
        try:
            return self._catalogue.text(key, press.locale, **values)
        except Exception:  # noqa: BLE001 - better no words than no answer
            return ""


def shown(details: NoticeDetails, more: Callable[[int], str]) -> OpenModal:
    """The details in a window, or in a message where there is none.

    Args:
        more: Says how many lines are left out.
    """
    title = (details.title if details.title.strip() else details.model)[:MAX_TITLE_CHARS]
    in_message = (f"**{title}**", *details.texts(MAX_MESSAGE_CHARS - len(title) - 5, more))
    return OpenModal(
        title=title,
        texts=details.texts(MAX_MODAL_CHARS, more),
        otherwise=Whisper(text="\n".join(in_message)),
    )
