"""When a call may be sent: in its order, and within all of Discord's limits."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.lane import Lane, Ticket
from turnkeeper.infrastructure.discord.patience import Patience
from turnkeeper.infrastructure.discord.reply import Reply

EDGE_PAUSE_S = 60.0
SHORTEST_PAUSE_S = 0.05
PER_SECOND = 50
_MOST_LANES = 4096

_Key = tuple[str, str]  # the bucket's name, or the route's while that is not known; what it is for


class RateLimits:
    """The limits as Discord tells them, learnt from its replies. Safe from several threads.

    Calls that share a bucket are made one after the other, in the order in which they came, so
    that messages stand in the order in which they were posted.

    Args:
        per_second: How many calls are made in any second, all in all.
    """

    def __init__(self, clock: Clock, *, per_second: int = PER_SECOND) -> None:
        self._clock = clock
        self._lock = Lock()  # guards all below, and what is in the lanes
        self._lanes: dict[_Key, Lane] = {}
        self._buckets: dict[str, str] = {}  # by the route's name
        self._sent_at_s: deque[float] = deque(maxlen=per_second)
        self._all_shut_until_s = 0.0
        self._edge_shut_until_s = 0.0

    @contextmanager
    def turn(self, call: Call, patience: Patience) -> Iterator[Ticket]:
        """Hold the call's place for the time of a block, from when it is its turn.

        Raises:
            WaitTooLong: The calls before it took too long.
            Cancelled: It was asked to stop.
        """
        ticket = self._join(call)
        try:
            patience.wait_for(ticket.turn, f"earlier calls of {call.name}")
            yield ticket
        finally:
            with self._lock:
                ticket.lane.leave(ticket)

    def wait(self, ticket: Ticket, call: Call, patience: Patience) -> None:
        """Return once the call may be sent; it counts as sent then.

        Raises:
            WaitTooLong: That would be too late.
            Cancelled: It was asked to stop.
        """
        while True:
            with self._lock:
                now_s = self._clock.monotonic()
                until_s, waiting_for = self._obstacle(ticket.lane, call)
                if until_s <= now_s:
                    self._count(ticket.lane, now_s)
                    return
            patience.rest(until_s - now_s, waiting_for)

    def learn(self, ticket: Ticket, call: Call, reply: Reply) -> None:
        """Take in what a reply says of limits."""
        with self._lock:
            now_s = self._clock.monotonic()
            bucket = reply.headers.get("x-ratelimit-bucket")
            if bucket:
                self._name(call, bucket)
            for lane in {ticket.lane, self._lanes.get(self._key(call), ticket.lane)}:
                _learn(lane, reply, now_s)
            if reply.is_from_edge:
                self._edge_shut_until_s = now_s + EDGE_PAUSE_S
            elif reply.is_limited and reply.is_global:
                until_s = now_s + _pause_s(reply)
                self._all_shut_until_s = max(self._all_shut_until_s, until_s)

    def _join(self, call: Call) -> Ticket:
        with self._lock:
            if len(self._lanes) >= _MOST_LANES:
                self._forget_idle()
            ticket = Ticket(self._lanes.setdefault(self._key(call), Lane()))
            ticket.lane.join(ticket)
            return ticket

    # ── under the lock ──────────────────────────────────────────────────────────────────────

    def _obstacle(self, lane: Lane, call: Call) -> tuple[float, str]:
        """What holds the call up longest, and until when."""
        burst = self._sent_at_s
        full_until_s = burst[0] + 1.0 if len(burst) == burst.maxlen else 0.0
        return max(
            (lane.free_at_s(), f"Discord's limit of {call.name}"),
            (full_until_s, "Discord's limit of calls a second"),
            (self._all_shut_until_s, "Discord's limit of all calls"),
            (self._edge_shut_until_s, "the end of a block by Discord's edge"),
        )

    def _count(self, lane: Lane, now_s: float) -> None:
        self._sent_at_s.append(now_s)
        if lane.left == 0:
            lane.left = None  # it is full again; how full, the reply tells
        elif lane.left is not None:
            lane.left -= 1

    def _key(self, call: Call) -> _Key:
        return self._buckets.get(call.name, call.name), call.major

    def _name(self, call: Call, bucket: str) -> None:
        """Let all lanes of this route go by the bucket's name."""
        if self._buckets.get(call.name) == bucket:
            return
        self._buckets[call.name] = bucket
        for name, major in [key for key in self._lanes if key[0] == call.name]:
            self._merge(self._lanes.pop((name, major)), (bucket, major))

    def _merge(self, lane: Lane, key: _Key) -> None:
        """Whoever has the lane ends what it began; the others stand behind those already there."""
        known = self._lanes.setdefault(key, lane)
        while known is not lane and len(lane.tickets) > 1:
            ticket = lane.tickets[1]
            lane.tickets.remove(ticket)
            known.join(ticket)

    def _forget_idle(self) -> None:
        now_s = self._clock.monotonic()
        for key, lane in list(self._lanes.items()):
            if not lane.tickets and lane.free_at_s() <= now_s:
                del self._lanes[key]


def _learn(lane: Lane, reply: Reply, now_s: float) -> None:
    left, after_s = reply.seconds("x-ratelimit-remaining"), reply.seconds("x-ratelimit-reset-after")
    if left is not None and after_s is not None:
        lane.left, lane.opens_at_s = int(left), now_s + after_s
    if reply.is_limited and not reply.is_global:
        lane.shut_until_s = max(lane.shut_until_s, now_s + _pause_s(reply))


def _pause_s(reply: Reply) -> float:
    """At least a little, as a limit that ends right now may not have ended over there."""
    return max(SHORTEST_PAUSE_S, reply.retry_after_s or 0.0)
