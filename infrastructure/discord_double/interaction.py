"""A press of a button, or a modal that was sent off, and what came of it."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.message import Author

PING, COMPONENT, MODAL_SUBMIT = 1, 3, 5
PONG, SAY, DEFER, DEFER_UPDATE, UPDATE, SHOW_MODAL = 1, 4, 5, 6, 7, 9
ANSWER_WITHIN_S = 3.0
TOKEN_LIVES_S = 900.0


@frozen
class Interaction:
    """One interaction.

    Attributes:
        kind: 3 for a press, 5 for a modal that was sent off.
        message_id: The message whose button it was, or that the modal came from.
        asked_at_s: On the monotonic clock.
        answer: The type of the callback that counted; None before.
        original_id: What `@original` stands for; None before the answer, and for a modal.
        said: The messages that it has brought; its token opens these and the original.
        modal: What the person was shown; None if nothing.
    """

    id: str
    token: str
    kind: int
    user: Author
    channel_id: str
    message_id: str | None
    asked_at_s: float
    answer: int | None = None
    original_id: str | None = None
    said: tuple[str, ...] = ()
    modal: Mapping[str, Any] | None = None
