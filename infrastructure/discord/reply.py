"""What came back from Discord, or from what stands before it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from math import isfinite
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.quotes import unquoted
from turnkeeper.domain.redact import redact

_MESSAGE_CHARS = 300
_FIELD_CHARS = 80
_CODE_CHARS = 40
_NO_JSON = object()


@frozen
class Sent:
    """What a reply may repeat and nobody else may read.

    Attributes:
        secrets: The tokens in use.
        texts: What people were to read.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    texts: tuple[str, ...] = field(default=(), repr=False)

    def without(self, said: str, limit: int) -> str:
        """What was said, without it."""
        return redact(unquoted(redact(said, self.secrets), self.texts), limit=limit)


@frozen
class Reply:
    """A whole reply.

    Attributes:
        status: The HTTP status.
        headers: By name in any case.
        value: The JSON of the body; None for an empty one, or one that is no JSON.
        is_json: Whether the body was JSON; an empty one is not.
        sent: What it may repeat.
    """

    status: int
    headers: Mapping[str, str]
    value: Any
    is_json: bool
    sent: Sent = Sent()

    @classmethod
    def read(
        cls, status: int, headers: Mapping[str, str], body: bytes, sent: Sent = Sent()
    ) -> "Reply":
        """The reply with this body."""
        value = _json(body)
        is_json = value is not _NO_JSON
        return cls(
            status=status,
            headers=headers,
            value=value if is_json else None,
            is_json=is_json,
            sent=sent,
        )

    @property
    def code(self) -> str:
        """Discord's code of an error; ``0`` where there is none."""
        code = self._field("code")
        if not isinstance(code, int | str) or isinstance(code, bool):
            return "0"
        return self.sent.without(str(code), _CODE_CHARS)

    @property
    def message(self) -> str:
        """Discord's words of an error, without secrets and quotes, possibly none."""
        message = self._field("message")
        return self.sent.without(message, _MESSAGE_CHARS) if isinstance(message, str) else ""

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The fields that an error complains of, each with its code."""
        without = self.sent.without
        return tuple(
            (without(name, _FIELD_CHARS), without(code, _FIELD_CHARS))
            for name, code in _complaints(self._field("errors"), "")
        )

    @property
    def retry_after_s(self) -> float | None:
        """How long to wait before the same call again; None where Discord says nothing of it.

        The body's number comes first, as the header's is rounded up. The header is believed only
        where the reply came from Discord, and not from the edge.
        """
        said = _seconds(self._field("retry_after"))
        if said is None and "via" in self.headers:
            said = _seconds(self.headers.get("retry-after"))
        return said

    @property
    def is_global(self) -> bool:
        """Whether a limit concerns all calls of the bot."""
        scope = self.headers.get("x-ratelimit-scope")
        return self._field("global") is True or scope == "global"

    @property
    def is_limited(self) -> bool:
        """Whether it came too early, and can come again after a time that Discord gives."""
        limited = self.status == 429 or (self.status >= 400 and self._field("retry_after"))
        return bool(limited) and self.retry_after_s is not None

    @property
    def is_from_edge(self) -> bool:
        """Whether what stands before Discord blocks this side."""
        if self.status == 429:
            return not self.is_limited
        return self.status == 403 and not self.is_json and "via" not in self.headers

    @property
    def is_invalid(self) -> bool:
        """Whether it counts towards the block of this side's address."""
        is_shared = self.headers.get("x-ratelimit-scope") == "shared"
        return self.status in (401, 403) or (self.status == 429 and not is_shared)

    def seconds(self, header: str) -> float | None:
        """A header's number, or None."""
        return _seconds(self.headers.get(header))

    def _field(self, name: str) -> Any:
        return self.value.get(name) if isinstance(self.value, dict) else None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return _NO_JSON


def _seconds(said: Any) -> float | None:
    try:
        seconds = float(said)
    except (TypeError, ValueError):
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None


def _complaints(errors: Any, name: str) -> Iterator[tuple[str, str]]:
    """Fields nest by name or place; each ends in a list named ``_errors``."""
    if not isinstance(errors, dict):
        return
    for part, inner in errors.items():
        if part != "_errors":
            yield from _complaints(inner, f"{name}.{part}" if name else str(part))
        elif isinstance(inner, list):
            for one in inner:
                if isinstance(one, dict):
                    yield name or "request", str(one.get("code", ""))
