"""The wall's words for the double, to which every request is one of its own."""

from collections.abc import Mapping
from typing import Any

import orjson

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.problem import INVALID_JSON
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.dialect import Asked, Kind, Rendered

NO_STREAM = "the Discord double streams nothing"


@frozen
class DiscordDialect:
    """Lets the wall ask its script about each request, whatever its path."""

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        return Asked(model="", streamed=False)

    def lists_models(self, method: str, path: str) -> bool:
        return False

    def models(self, names: tuple[str, ...]) -> bytes:
        raise NotImplementedError(NO_STREAM)

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        raise NotImplementedError(NO_STREAM)

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        raise NotImplementedError(NO_STREAM)

    def error(self, status: int, message: str) -> bytes:
        """What the wall says of a request that it cannot read."""
        problem = INVALID_JSON.body if status == 400 else {"message": message, "code": 0}
        return orjson.dumps(problem)

    def error_event(self, status: int, message: str) -> bytes:
        raise NotImplementedError(NO_STREAM)
