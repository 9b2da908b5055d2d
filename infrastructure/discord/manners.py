"""How a bot behaves in its channels."""

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord.content import MAX_CHARS

SHORTEST_EDIT_INTERVAL_S = 1.0


@frozen
class Manners:
    """How a bot behaves.

    Attributes:
        edit_interval_s: Messages grow in place, edited at most this often, at least 1 s, as
            Discord takes five edits in five seconds; None posts each message whole.
        max_chars: The longest message, at most Discord's own limit.
        post_within_s: The longest time that a post, an edit or an announcement may take.
        take_back_within_s: The longest time that a deletion may take.
        shows_typing: Whether people see that an answer is coming.
    """

    edit_interval_s: float | None = None
    max_chars: int = MAX_CHARS
    post_within_s: float = 60.0
    take_back_within_s: float = 25.0
    shows_typing: bool = True

    def __post_init__(self) -> None:
        interval_s = self.edit_interval_s
        if interval_s is not None and not interval_s >= SHORTEST_EDIT_INTERVAL_S:
            raise ValueError(
                f"edit_interval_s is {interval_s}, must be at least {SHORTEST_EDIT_INTERVAL_S} s"
            )
        if not 1 <= self.max_chars <= MAX_CHARS:
            raise ValueError(f"max_chars is {self.max_chars}, must be from 1 to {MAX_CHARS}")
