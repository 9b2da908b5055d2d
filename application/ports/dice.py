"""Chance."""

from typing import Protocol


class Dice(Protocol):
    """Draws numbers. Safe to use from several threads; `random.Random.randrange` fits it."""

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, each equally likely; n is at least 1."""
        ...
