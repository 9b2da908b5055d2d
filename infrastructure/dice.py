"""Chance, from the operating system."""

import secrets

from turnkeeper.application.ports.dice import Dice


class SystemDice(Dice):
    """Fair, without a seed, and without state that threads could share."""

    def below(self, n: int) -> int:
        return secrets.randbelow(n)
