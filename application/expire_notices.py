"""Takes the buttons of notices whose time is over out of use."""

from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.notice_editor import NoticeEditor
from turnkeeper.application.ports.notices import Notices
from turnkeeper.domain.errors import DestinationGone
from turnkeeper.domain.notice import Notice
from turnkeeper.domain.redact import redact

AT_ONCE = 10
EVERY_S = 60.0


class ExpireNotices:
    """Disables a few buttons at a time. One that fails is tried again when its claim has run out.

    Args:
        every_s: How often `flush` looks.
    """

    def __init__(
        self, *, notices: Notices, editor: NoticeEditor, clock: Clock, every_s: float = EVERY_S
    ) -> None:
        self._notices = notices
        self._editor = editor
        self._clock = clock
        self._every_s = every_s
        self._lock = Lock()  # guards the one below
        self._next_s = clock.monotonic()

    def __call__(self, limit: int = AT_ONCE) -> tuple[str, ...]:
        """Disable the buttons of at most so many; returns why some still stand, redacted.

        Raises:
            StoreUnavailable: Nobody can say which.
        """
        causes = (self._expire(notice) for notice in self._notices.due(limit))
        return tuple(cause for cause in causes if cause is not None)

    def flush(self) -> None:
        """Do it if it is time to, as something that a heartbeat does beside other things."""
        now_s = self._clock.monotonic()
        with self._lock:
            if now_s < self._next_s:
                return
            self._next_s = now_s + self._every_s
        self()

    def _expire(self, notice: Notice) -> str | None:
        try:
            self._editor.disable(notice.place, notice.details)
        except DestinationGone:
            pass  # nobody can press it there
        except Exception as error:  # noqa: BLE001 - one that fails must not keep the others
            return redact(f"{notice.place.message_id}: {error}")
        self._notices.forget(notice.place)
        return None
