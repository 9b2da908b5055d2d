"""What one invocation posts through; once sealed, nothing of it can stay in the channel."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event

from turnkeeper.application.delivery_log import DeliveryLog
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.poster import Poster
from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.watch import Progress

Speak = Callable[[], Delivery]
"""Posts or edits a message, and says what is there then."""
Beside = Callable[[Speak, Callable[[], bool]], Delivery]
"""Lets a thread speak that can be left behind once nobody wants the message any more."""

CLEAR_TO_POST_S = 30.0
"""The longest wait for superseded messages to be gone; deleting is best effort."""


class Outlet:
    """One invocation's door to the channel.

    Args:
        progress: Held while a message keeps the invocation from listening: nobody can be late then.
        cleared: Set once what an earlier invocation had posted is gone; None where it had not.
        beside: Lets somebody else wait for the channel; None to wait for it here.
    """

    def __init__(
        self,
        poster: Poster,
        invocation_no: int,
        progress: Progress,
        clock: Clock,
        cleared: Event | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._poster = poster
        self._log = DeliveryLog()
        self.invocation_no = invocation_no
        self._progress = progress
        self._monotonic = clock.monotonic
        self.cleared = cleared
        self._beside = beside

    def post(self, text: str, *, origin: Origin = Origin.STREAM) -> Delivery:
        """Post, after what is superseded is gone.

        Raises:
            Cancelled: The invocation was abandoned; nothing of this message stays.
            SinkError: The message is not there.
            StoreError: Its intent could not be written, so it was not posted.
        """
        if self._beside is None:
            return self._post(text, origin)
        return self._beside(partial(self._post, text, origin), self._is_shut)

    def edit(self, before: Delivery, text: str) -> Delivery:
        """Replace a message's text.

        Raises:
            Cancelled: The invocation was abandoned; it says again what it said.
            SinkError: It still says what it said.
        """
        if self._beside is None:
            return self._edit(before, text)
        return self._beside(partial(self._edit, before, text), self._is_shut)

    def shut(self) -> None:
        """Let nothing more through, at once."""
        self._log.seal()

    def seal(self, wait_s: float = CLEAR_TO_POST_S) -> tuple[Delivery, ...]:
        """Let nothing more through, once what is superseded is gone; returns what is there.

        Args:
            wait_s: The longest wait for that.
        """
        if self.cleared is not None:
            self.cleared.wait(wait_s)
        return self._log.seal()

    def _post(self, text: str, origin: Origin) -> Delivery:
        self._progress.held(self._monotonic())
        try:
            if self.cleared is not None:
                self.cleared.wait(CLEAR_TO_POST_S)
            if self._log.is_sealed:
                raise Cancelled("the invocation was abandoned")
            delivery = self._poster.post(text, origin=origin, invocation_no=self.invocation_no)
        finally:
            self._progress.resumed(self._monotonic())
        if not self._log.add(delivery):
            self._poster.take_back((delivery,), late=True)
            self._poster.write_late()
            raise Cancelled("the invocation was abandoned while this was being posted")
        return delivery

    def _edit(self, before: Delivery, text: str) -> Delivery:
        if self._log.is_sealed:
            raise Cancelled("the invocation was abandoned")
        self._progress.held(self._monotonic())
        try:
            after = self._poster.edit(before, text)
        finally:
            self._progress.resumed(self._monotonic())
        if not self._log.replace(before, after):
            with suppress(SinkError):  # it may have been taken back by now
                self._poster.edit(after, before.text)
            raise Cancelled("the invocation was abandoned while this was being edited")
        return after

    def _is_shut(self) -> bool:
        return self._log.is_sealed
