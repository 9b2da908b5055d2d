"""One call to the API, and the reply to it."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.state import State

Auth = Literal["bot", "path"]
TRUE = ("true", "True", "1")


@frozen
class Reply:
    """What a call is answered with; a body of None is none at all."""

    status: int = 200
    body: object = None


NO_CONTENT = Reply(status=204)


@frozen
class Call:
    """A call, taken apart.

    Attributes:
        route: Its name in the table of routes.
        params: What the path names.
        query: The last value of each name.
    """

    route: str
    method: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any] = field(repr=False)

    def says(self, name: str) -> bool:
        """Whether a boolean of the query is set."""
        return self.query.get(name) in TRUE


@frozen
class Route:
    """One row of the table of routes.

    Attributes:
        path: With `{names}` for what differs; below the version.
        major: Which of the names have a rate limit each.
        auth: Whether the bot's token is needed, or what the path holds is enough.
    """

    name: str
    method: str
    path: str
    answer: Callable[[State, Call], Reply]
    major: tuple[str, ...] = ()
    auth: Auth = "bot"
