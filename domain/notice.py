"""The notice that a fallback answered: where it stands, and what its button shows."""

from collections.abc import Callable, Iterable
from typing import Self

from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.redact import redact

ALIVE_S = 24 * 3600.0
"""How long the button of a notice shows its details."""

MAX_TITLE_CHARS = 45
MAX_LINE_CHARS = 900
MAX_LINES = 20
MAX_TIPS = 2
MAX_MODEL_CHARS = 200


@frozen
class NoticePlace:
    """Where a notice stands, as far as it takes to find and to edit it.

    Attributes:
        server_id: The server, as the turn names it.
        channel_id: The channel; of a message in a thread, the thread's parent.
        message_id: The message that is the notice.
        thread_id: The thread within the channel, or None.
        webhook_id: The webhook that posted it, or None for the bot itself.
    """

    server_id: str
    channel_id: str
    message_id: str
    thread_id: str | None = None
    webhook_id: str | None = None


@frozen
class NoticeDetails:
    """What the button of a notice shows, in the language of the turn.

    Attributes:
        title: A short line, and the button's label.
        lead: Which model answered, and in which place of its chain.
        lines: Why each attempt before failed, in order.
        model: The model that answered.
        slot: Its place in its route's chain, from 1.
        tips: How to keep this from happening again; none where there is no such way.
        left_out: How many lines there were beyond these.
    """

    title: str
    lead: str
    lines: tuple[str, ...]
    model: str
    slot: int
    tips: tuple[str, ...] = ()
    left_out: int = 0

    @classmethod
    def of(
        cls, notice: FallbackNotice, *, title: str, text: str, tips: tuple[str, ...] = ()
    ) -> Self:
        """The details of a notice as it is said: redacted, and no longer than may be kept.

        Args:
            text: A line that says who answered, then a line for each attempt that failed.
        """
        lead, *lines = text.splitlines() or [""]
        return cls(
            title=redact(title, limit=MAX_TITLE_CHARS),
            lead=redact(lead, limit=MAX_LINE_CHARS),
            lines=_redacted(lines[:MAX_LINES]),
            model=redact(notice.model, limit=MAX_MODEL_CHARS),
            slot=notice.slot.number,
            tips=_redacted(tips[:MAX_TIPS]),
            left_out=max(0, len(lines) - MAX_LINES),
        )

    def texts(self, limit: int, more: Callable[[int], str]) -> tuple[str, ...]:
        """What is shown below the title: who answered, why, and what to do; none is blank.

        Lines that do not fit are left out, the last ones first.

        Args:
            limit: The most characters of all texts together, one more for each.
            more: Says how many lines are left out.
        """
        lead, tips = (_cut(text, limit // 4) for text in (self.lead, "\n".join(self.tips)))
        left = limit - len(lead) - len(tips) - 3
        whole = self._why(len(self.lines), more)
        why = whole if len(whole) <= left else self._shortened(left, more)
        shown = tuple(text for text in (lead, why, tips) if text.strip())
        return shown or (self.model,)

    def _shortened(self, left: int, more: Callable[[int], str]) -> str:
        cuts = (self._why(count, more) for count in range(len(self.lines) - 1, -1, -1))
        return next((why for why in cuts if len(why) <= left), "")

    def _why(self, count: int, more: Callable[[int], str]) -> str:
        left_out = self.left_out + len(self.lines) - count
        ending = (more(left_out),) if left_out else ()
        return "\n".join((*self.lines[:count], *ending))


@frozen
class Notice:
    """A notice that stands somewhere."""

    place: NoticePlace
    details: NoticeDetails


@frozen(kw_only=False)
class NoticeExpired:
    """The notice is known, and its time is over."""


def _redacted(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(redact(line, limit=MAX_LINE_CHARS) for line in lines)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
