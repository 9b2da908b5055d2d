"""What is kept of one user, and how it is forgotten."""

from dataclasses import fields
from typing import Protocol

from turnkeeper.domain.frozen import frozen


@frozen
class Traces:
    """How much is kept of a user, or was forgotten.

    Attributes:
        turns: Turns that are over, with their results.
        entries: What their journals hold.
        tool_runs: How many of these entries tell of a tool.
        messages: What the ledger holds of their messages.
        notices: What the buttons of fallback notices show.
        counts: Cooldowns, quota days and units, and rests of models.
        keys: Saved keys.
        settings: Providers, endpoints, and the rest as one.
        unfinished: Turns that run or are still to be swept up; they stay.
    """

    turns: int = 0
    entries: int = 0
    tool_runs: int = 0
    messages: int = 0
    notices: int = 0
    counts: int = 0
    keys: int = 0
    settings: int = 0
    unfinished: int = 0

    def plus(self, other: "Traces") -> "Traces":
        """Both."""
        names = [field.name for field in fields(Traces)]
        return Traces(**{name: getattr(self, name) + getattr(other, name) for name in names})


class UserTraces(Protocol):
    """Counts and forgets. Safe to use from several threads and processes.

    Raises:
        StoreUnavailable: From every method: nothing was forgotten.
    """

    def count(self, user_id: str) -> Traces:
        """How much is kept of a user."""
        ...

    def forget_turns(self, user_id: str, *, limit: int) -> Traces:
        """Forget at most so many turns that are over, with all that they left; none is the end."""
        ...

    def forget_account(self, user_id: str) -> Traces:
        """Forget what is kept apart from turns: notices, counts, keys and settings.

        The version of the settings stays and rises, so that nobody goes on with what was set.
        """
        ...
