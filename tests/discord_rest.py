"""A Discord of the test's own: replies by route, over real sockets."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fakes import FrozenClock
from raw_server import Peer, RawServer, Received, reply

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.rate_limits import RateLimits
from turnkeeper.infrastructure.discord.refusals import RefusalBudget
from turnkeeper.infrastructure.discord.transport import Transport

BOT_TOKEN = "bot-canary-5d1e"
HOOK_TOKEN = "hook-canary-9c2b"
BROKEN = b""  # in the place of a reply: the connection breaks after the call was read


@dataclass(frozen=True)
class Asked:
    """One call as it arrived.

    Attributes:
        route: Verb and path, without the query.
        query: By name.
        body: The JSON of it, or None.
    """

    route: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


@dataclass
class Discord:
    """Gives each route its replies in turn, the last one over and over.

    Attributes:
        asked: All calls, in the order in which they came.
    """

    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._lock = Lock()  # guards the calls and the replies
        self._replies: dict[str, list[bytes]] = {}

    def on(self, route: str, *replies: bytes) -> None:
        self._replies[route] = list(replies)

    def asked_for(self, route: str) -> list[Asked]:
        return [one for one in self.asked if one.route == route]

    @property
    def routes(self) -> list[str]:
        return [one.route for one in self.asked]

    def talk(self, peer: Peer) -> None:
        while received := peer.receive():
            answer = self._answer(received)
            if answer == BROKEN:
                peer.reset()
                return
            peer.send(answer)

    def _answer(self, received: Received) -> bytes:
        verb, target, _ = received.line.split(" ")
        parts = urlsplit(target)
        route = f"{verb} {parts.path.removeprefix('/api/v10')}"
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(received.body) if received.body else None
        with self._lock:
            self.asked.append(Asked(route, query, body, received.headers))
            replies = self._replies.get(route, [error(404, 0, f"404: {route}")])
            return replies.pop(0) if len(replies) > 1 else replies[0]


@contextmanager
def discord() -> Iterator[Discord]:
    """A Discord for the time of a block; it knows no route yet."""
    double = Discord()
    server = RawServer(double.talk)
    double.url = f"http://{server.host}/api/v10"
    try:
        yield double
    finally:
        server.close()


def client_of(
    double: Discord,
    *,
    clock: Clock | None = None,
    limits: RateLimits | None = None,
    most_refusals: int = 100,
    read_timeout_s: float = 10.0,
) -> DiscordClient:
    clock = clock or FrozenClock()
    return DiscordClient(
        Transport(Secret(BOT_TOKEN), base_url=double.url, read_timeout_s=read_timeout_s),
        clock=clock,
        limits=limits or RateLimits(clock),
        budget=RefusalBudget(clock, most=most_refusals),
    )


def ok(value: Any = None, *, status: str = "200 OK", headers: str = "") -> bytes:
    """A reply of JSON, or the empty one of a deletion."""
    if value is None:
        return reply(status="204 No Content", headers=headers)
    lines = "\n".join(["Content-Type: application/json", "Via: 1.1 google", *headers.splitlines()])
    return reply(json.dumps(value).encode(), status=status, headers=lines)


def error(status: int, code: int, message: str = "no", *, headers: str = "", **more: Any) -> bytes:
    """A refusal of Discord's."""
    value = {"code": code, "message": message, **more}
    return ok(value, status=f"{status} Refused", headers=headers)


def limited(after_s: float, *, is_global: bool = False, headers: str = "") -> bytes:
    """A call that came too early."""
    return error(429, 0, "slow down", retry_after=after_s, headers=headers, **{"global": is_global})


def message(message_id: str, **more: Any) -> bytes:
    """A message that was taken, or read."""
    return ok({"id": message_id, "channel_id": "1", **more})


def recorded_reply(recordings: Path, name: str) -> bytes:
    """The reply of a recording."""
    folder = recordings / name
    meta = json.loads((folder / "meta.json").read_text())
    body = (folder / meta["response_file"]).read_bytes()
    headers = "\n".join(f"{key}: {value}" for key, value in meta["http"]["headers"].items())
    return reply(body, status=f"{meta['http']['status']} Recorded", headers=headers)
