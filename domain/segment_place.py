"""Where a text can be cut."""

from enum import IntEnum

from turnkeeper.domain.frozen import frozen


class Rank(IntEnum):
    """How good a place is, from the worst to the best."""

    WORD = 1
    ROW = 2
    SENTENCE = 3
    LINE = 4
    PARAGRAPH = 5


@frozen(kw_only=False)
class Place:
    """A place to cut at.

    Attributes:
        at: How many characters lie before it.
        is_clean: Nothing is open here.
    """

    at: int
    rank: Rank
    is_clean: bool = True
