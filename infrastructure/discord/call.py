"""One call of Discord's interface, before it is sent."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from typing import Any
from urllib.parse import unquote

from turnkeeper.domain.frozen import frozen


@frozen
class Call:
    """What is asked, and what may be done where no clear answer comes.

    Its repr shows no address and no body, as the one may hold a token and the other what people
    said.

    Attributes:
        verb: The HTTP verb.
        template: The route with names in the place of ids; calls with the same one share limits.
        path: The route itself, with its query.
        major: The channel or webhook that limits are counted for.
        body: What is sent as JSON, or None.
        by_bot: Whether the bot's token goes with it; never to a webhook's own routes.
        repeatable: Whether a second call does no more than the first.
        insists: Whether it is worth waiting and trying again at all.
        gone: The codes that say of this call that nobody can be reached.
    """

    verb: str
    template: str
    path: str = field(repr=False)
    major: str = ""
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    by_bot: bool = True
    repeatable: bool = True
    insists: bool = True
    gone: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What it is called in messages; it holds no id and no token."""
        return f"{self.verb} {self.template}"

    @property
    def token(self) -> str | None:
        """The token that its address holds, or None."""
        names, parts = self.template.split("/"), self.path.partition("?")[0].split("/")
        found = (part for name, part in zip(names, parts, strict=False) if name == "{token}")
        return next(map(unquote, found), None)

    @property
    def texts(self) -> tuple[str, ...]:
        """What its body has people read."""
        return tuple(_texts_in(self.body))


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from chain.from_iterable(map(_texts_in, value.values()))
        case list() | tuple():
            yield from chain.from_iterable(map(_texts_in, value))
