"""One queue of calls that share a limit."""

from collections import deque
from dataclasses import dataclass, field
from threading import Event


@dataclass(slots=True, eq=False)
class Lane:
    """Calls in the order in which they came, the first of which is being made.

    Attributes:
        tickets: Who waits; the first one has the lane.
        left: How many calls may be made before `opens_at_s`; None if unknown.
        opens_at_s: When `left` is full again.
        shut_until_s: Until when nothing may be sent, whatever is left.
    """

    tickets: "deque[Ticket]" = field(default_factory=deque)
    left: int | None = None
    opens_at_s: float = 0.0
    shut_until_s: float = 0.0

    def free_at_s(self) -> float:
        """When its next call may be sent."""
        return max(self.shut_until_s, self.opens_at_s if self.left == 0 else 0.0)

    def join(self, ticket: "Ticket") -> None:
        """Stand at the end."""
        ticket.lane = self
        self.tickets.append(ticket)
        self.tickets[0].turn.set()

    def leave(self, ticket: "Ticket") -> None:
        """Make place for the next one."""
        self.tickets.remove(ticket)
        if self.tickets:
            self.tickets[0].turn.set()


@dataclass(slots=True, eq=False)
class Ticket:
    """One call's place in a lane.

    Attributes:
        lane: Where it stands now.
        turn: Set once it is its turn.
    """

    lane: Lane
    turn: Event = field(default_factory=Event)
