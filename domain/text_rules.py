"""How a streamed answer is read and cut."""

from turnkeeper.domain.frozen import frozen

STAND_ALONE_CHARS = 1000
"""A text of so many characters is worth a message of its own."""
LEAST_DEDUPE_CHARS = 8
"""Shorter pieces are repeated by honest text."""


@frozen
class TextRules:
    """What is shown of an answer, and when.

    Attributes:
        hold_chars: The first message waits for so much visible text ...
        hold_s: ... or until its first visible text is so old, whichever comes first.
        stand_alone_chars: A paragraph's end is worth a message from here on; at most half of
            what a message holds.
        speakers: Who else speaks in the channel. A line that one of these names labels ends
            the answer; empty is no guard.
        capture_details: Whether a `<details>` block is kept back, like a thought.
        most_messages: So many messages of an answer are posted, and then it ends; 0 is no limit.
        dedupe_from: A piece of so many characters that came twice is taken once; None takes
            all as it comes.
    """

    hold_chars: int = 40
    hold_s: float = 0.5
    stand_alone_chars: int = STAND_ALONE_CHARS
    speakers: tuple[str, ...] = ()
    capture_details: bool = False
    most_messages: int = 0
    dedupe_from: int | None = None

    def __post_init__(self) -> None:
        if self.hold_chars < 0 or self.hold_s < 0 or self.stand_alone_chars < 1:
            raise ValueError(
                "hold_chars and hold_s must be at least 0 and stand_alone_chars at least 1:"
                f" got {self.hold_chars}, {self.hold_s} and {self.stand_alone_chars}"
            )
        if self.most_messages < 0:
            raise ValueError(f"most_messages must be at least 0: got {self.most_messages}")
        if self.dedupe_from is not None and self.dedupe_from < LEAST_DEDUPE_CHARS:
            raise ValueError(
                f"dedupe_from must be at least {LEAST_DEDUPE_CHARS} or None: got {self.dedupe_from}"
            )
        if any(not any(sign.isalnum() for sign in name) for name in self.speakers):
            raise ValueError(f"speakers must be names with a letter or digit: got {self.speakers}")
