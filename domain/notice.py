"""The notice that a fallback answered: where it stands, and what its button shows."""

from dataclasses import dataclass
from typing import Self

from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.redact import redact

ALIVE_S = 24 * 3600.0
"""How long the button of a notice shows its details."""

MAX_TITLE_CHARS = 45
MAX_LINE_CHARS = 900
MAX_LINES = 20
MAX_MODEL_CHARS = 200
MAX_SHOWN_CHARS = 4000
"""What a modal takes of text in all; the longest that can be shown of a notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeDetails:
    """What the button of a notice shows, in the language of the turn.

    Attributes:
        title: A short line.
        lead: Which model answered, and in which place of its chain.
        lines: Why each attempt before failed, in order.
        model: The model that answered.
        slot: Its place in its route's chain, from 1.
        tips: How to keep this from happening again; empty where there is no such way.
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
            lines=tuple(redact(line, limit=MAX_LINE_CHARS) for line in lines[:MAX_LINES]),
            model=redact(notice.model, limit=MAX_MODEL_CHARS),
            slot=notice.slot.number,
            tips=tuple(redact(tip, limit=MAX_LINE_CHARS) for tip in tips[:2]),
            left_out=max(0, len(lines) - MAX_LINES),
        )


@dataclass(frozen=True, slots=True)
class NoticeExpired:
    """The notice is known, and its time is over."""
