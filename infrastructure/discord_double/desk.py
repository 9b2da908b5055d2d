"""Where requests are answered: edge, faults, token, limits, and then what was asked for."""

import re
import secrets
import threading
from collections.abc import Callable, Mapping

import orjson

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.answers import (
    blocked,
    blocked_agent,
    failed,
    rate_limited,
    refused,
    told,
)
from turnkeeper.infrastructure.discord_double.breakage import Breakage
from turnkeeper.infrastructure.discord_double.call import Call, Route
from turnkeeper.infrastructure.discord_double.fault import (
    EdgeBlock,
    LostResponse,
    Mishap,
    RateLimited,
    Refusal,
    ServerError,
    SlowAnswer,
)
from turnkeeper.infrastructure.discord_double.limits import Limits
from turnkeeper.infrastructure.discord_double.problem import (
    BLOCKED_AGENT,
    INVALID_TOKEN,
    UNAUTHORIZED,
    FormError,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.routes import answer, found
from turnkeeper.infrastructure.discord_double.state import State
from turnkeeper.infrastructure.discord_double.toll import Toll
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Replay, Reset
from turnkeeper.infrastructure.wall.seen import Seen

AGENT = re.compile(r"DiscordBot \(\S+, \S+\)")
BANNED = EdgeBlock(form="text")


@frozen
class Exchange:
    """One request and what it was answered.

    Attributes:
        route: None if no route fits, or the edge answered.
        status: None if the answer was lost.
        code: Of the JSON body, if it has one.
    """

    method: str
    path: str
    route: str | None
    status: int | None
    code: int | None


class Desk:
    """Answers one request at a time; only a slow answer is waited out beside the others."""

    def __init__(self, state: State, limits: Limits, closing: threading.Event) -> None:
        self._state = state
        self._closing = closing
        self.breakage = Breakage()
        self.toll = Toll(state, limits)
        self.exchanges: list[Exchange] = []

    def meet(self, seen: Seen) -> Behaviour:
        """Answer a request of the wall."""
        with self._state.lock:
            behaviour, wait_s = self._answered(seen)
        if wait_s:
            self._closing.wait(wait_s)
        return behaviour

    def _answered(self, seen: Seen) -> tuple[Behaviour, float]:
        if self.toll.is_banned:
            return self._noted(seen, None, blocked(BANNED)), 0.0
        if not AGENT.match(seen.headers.get("user-agent", "")):
            return self._noted(seen, None, blocked_agent(BLOCKED_AGENT)), 0.0
        try:
            route, call = found(seen.method, seen.target, seen.body, self._state.application_id)
        except Refused as error:
            return self._noted(seen, None, refused(error.problem)), 0.0
        mishap = self.breakage.met(self._state, call)
        behaviour = self._struck(mishap, call, lambda: self._served(seen, route, call))
        wait_s = mishap.after_s if isinstance(mishap, SlowAnswer) else 0.0
        return self._noted(seen, route, behaviour), wait_s

    def _struck(
        self, mishap: Mishap | None, call: Call, serve: Callable[[], Replay]
    ) -> Replay | Reset:
        match mishap:
            case None | SlowAnswer():
                return serve()
            case EdgeBlock():
                return blocked(mishap)
            case Refusal(problem=problem):
                return refused(problem)
            case RateLimited():
                return rate_limited(mishap, self.toll.claimed(mishap, call))
            case ServerError() | LostResponse():
                if mishap.takes_effect:
                    serve()
                return failed(mishap) if isinstance(mishap, ServerError) else Reset()

    def _served(self, seen: Seen, route: Route, call: Call) -> Replay:
        try:
            self._check_token(seen, route)
        except Refused as error:
            return refused(error.problem)
        charge = self.toll.charge(route, call)
        if charge.limited is not None:
            return rate_limited(charge.limited, charge.headers)
        try:
            _check_type(seen)
            return told(answer(self._state, route, call), charge.headers)
        except Refused as error:
            return refused(error.problem, charge.headers)

    def _check_token(self, seen: Seen, route: Route) -> None:
        if route.auth == "path":
            return
        given = seen.headers.get("authorization")
        if given is None:
            raise Refused(UNAUTHORIZED)
        if not secrets.compare_digest(given.encode(), f"Bot {self._state.token}".encode()):
            raise Refused(INVALID_TOKEN)

    def _noted(self, seen: Seen, route: Route | None, behaviour: Replay | Reset) -> Behaviour:
        """Keep the exchange, and count it if it is a refusal of the kind that leads to a ban."""
        status = behaviour.status if isinstance(behaviour, Replay) else None
        exchange = Exchange(
            method=seen.method,
            path=seen.path,
            route=route.name if route else None,
            status=status,
            code=_code(behaviour) if isinstance(behaviour, Replay) else None,
        )
        self.exchanges.append(exchange)
        is_shared = isinstance(behaviour, Replay) and ("X-RateLimit-Scope", "shared") in (
            behaviour.headers
        )
        if status in (401, 403, 429) and not is_shared:
            self.toll.count_invalid()
        return behaviour


def _check_type(seen: Seen) -> None:
    kind = seen.headers.get("content-type", "").partition(";")[0].strip()
    if seen.raw and kind != "application/json":
        wrong = FormError(
            place=(),
            code="CONTENT_TYPE_INVALID",
            message='Expected "Content-Type" header to be one of {"application/json"}.',
        )
        refuse_form((wrong,))


def _code(replay: Replay) -> int | None:
    if not replay.body.startswith(b"{"):
        return None
    body: Mapping[str, object] = orjson.loads(replay.body)
    code = body.get("code")
    return code if isinstance(code, int) and replay.status >= 400 else None
