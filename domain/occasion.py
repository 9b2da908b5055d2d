"""What set a turn off, and who may hear of its failure."""

from enum import Enum

from turnkeeper.domain.frozen import frozen


class Audience(Enum):
    """Who is told when a turn ends without an answer."""

    PERSON = "person"
    """The people at the destination."""
    NOBODY = "nobody"
    """Nobody: the turn came by itself (auto-chat, random triggers)."""
    CALLER = "caller"
    """The caller, by an exception: the turn speaks in somebody else's name."""


class QuotaSource(Enum):
    """Whether a person or the system set the turn off."""

    USER = "user"
    SYSTEM = "system"


@frozen
class Occasion:
    """The circumstances that decide on admission.

    Attributes:
        quota_source: Whether a person or the system asked.
        is_dm: In a direct message; cooldowns then count for the user alone.
        is_stop_response: The answer to a stop.
        is_persona_job: A further persona answering the same trigger.
        is_self_message: Set off by the bot's own message.
        is_reminder: A reminder for somebody, or for oneself.
        by_manager: Set off by a member who manages the server.
    """

    quota_source: QuotaSource = QuotaSource.USER
    is_dm: bool = False
    is_stop_response: bool = False
    is_persona_job: bool = False
    is_self_message: bool = False
    is_reminder: bool = False
    by_manager: bool = False
