"""One accepted connection: requests in, behaviours out, until somebody leaves."""

import socket
import threading
import time
from contextlib import suppress

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.wall.acts import Voice
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Refuse, Replay
from turnkeeper.infrastructure.wall.dialect import Asked, Dialect
from turnkeeper.infrastructure.wall.play import acts_of
from turnkeeper.infrastructure.wall.request import BadRequest, Request, RequestReader
from turnkeeper.infrastructure.wall.script import Script
from turnkeeper.infrastructure.wall.seen import Seen, Sent
from turnkeeper.infrastructure.wall.send import Gone, Line

JSON = (("Content-Type", "application/json"),)
NOTHING = Asked(model="", streamed=False)


@frozen
class House:
    """What all connections of a wall share."""

    dialects: tuple[Dialect, ...]
    max_body_bytes: int
    script: Script
    closing: threading.Event
    scale: float


@frozen
class _Route:
    """Whose request it is; `asked` is None beside the chat routes."""

    dialect: Dialect
    asked: Asked | None

    def voice(self, *, keep_alive: bool) -> Voice:
        return Voice(dialect=self.dialect, asked=self.asked or NOTHING, keep_alive=keep_alive)


class Connection:
    """Serves one socket in the calling thread; closing it stays with the caller."""

    def __init__(self, accepted: socket.socket, number: int, house: House) -> None:
        self._number = number
        self._house = house
        self._line = Line(accepted, house.closing, house.scale)
        self._reader = RequestReader(accepted, max_body_bytes=house.max_body_bytes)

    def serve(self) -> None:
        """Answer until the client, the wall or a behaviour ends the connection."""
        with suppress(Gone):
            self._line.hurry()
            while self._next():
                pass

    def _next(self) -> bool:
        try:
            request = self._reader.next()
            if request is None:
                self._line.ended()
                return False
            return self._answer(request)
        except BadRequest as error:
            self._turn_away(error)
            return False

    def _answer(self, request: Request) -> bool:
        route = self._route(request)
        seen = self._seen(request, route)
        voice = route.voice(keep_alive=request.keep_alive)
        try:
            behaviour = self._house.script.meet(seen, on_chat_route=route.asked is not None)
            acts = acts_of(behaviour or self._unscripted(seen, route), voice)
            return self._line.perform(acts, seen.sent) and request.keep_alive
        finally:
            seen.sent.over.set()

    def _turn_away(self, error: BadRequest) -> None:
        dialect = self._house.dialects[0]
        refusal = Refuse(
            status=error.status, body=dialect.error(error.status, str(error)), headers=JSON
        )
        voice = Voice(dialect=dialect, asked=NOTHING, keep_alive=False)
        self._line.perform(acts_of(refusal, voice), Sent())
        self._line.drain()

    def _route(self, request: Request) -> _Route:
        for dialect in self._house.dialects:
            asked = dialect.asked(request.method, request.path, request.body)
            if asked is not None or dialect.lists_models(request.method, request.path):
                return _Route(dialect=dialect, asked=asked)
        return _Route(dialect=self._house.dialects[0], asked=None)

    def _seen(self, request: Request, route: _Route) -> Seen:
        return Seen(
            model=route.asked.model if route.asked else None,
            key=request.key,
            method=request.method,
            path=request.path,
            target=request.target,
            headers=request.headers,
            body=request.body,
            raw=request.raw,
            at_s=time.monotonic(),
            connection_no=self._number,
            client_gone=self._line.client_gone,
        )

    def _unscripted(self, seen: Seen, route: _Route) -> Behaviour:
        dialect = route.dialect
        if dialect.lists_models(seen.method, seen.path):
            names = self._house.script.models
            return Replay(body=dialect.models(names), headers=JSON, framing="length")
        missing = f"{seen.method} {seen.path}" if route.asked is None else f"model {seen.model!r}"
        body = dialect.error(404, f"the wall has no {missing}")
        return Refuse(status=404, body=body, headers=JSON)
