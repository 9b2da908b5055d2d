"""One request as it came in, and what has gone out for it."""

import threading
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from turnkeeper.domain.frozen import frozen


class Sent:
    """What has been written to one request so far; only its connection's thread writes here.

    Attributes:
        bytes: Head and framing included.
        tokens: How many of the answer's tokens.
        last_at_s: The monotonic instant of the last write; None before the first.
        over: Set when the wall will write nothing more for this request.
    """

    __slots__ = ("bytes", "last_at_s", "over", "tokens")

    def __init__(self) -> None:
        self.bytes = 0
        self.tokens = 0
        self.last_at_s: float | None = None
        self.over = threading.Event()


@frozen
class Seen:
    """One request as it came in.

    Attributes:
        model: None beside the chat routes.
        key: The bearer token, or the x-api-key or x-goog-api-key header.
        path: Without the query; `target` has it.
        headers: By lower-case name.
        body: The parsed JSON; empty if there was none.
        at_s: On the monotonic clock.
        client_gone: Set when the client has closed this request's connection, at any time.
    """

    model: str | None
    key: str | None = field(repr=False)
    method: str
    path: str
    target: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)
    raw: bytes = field(repr=False)
    at_s: float
    connection_no: int
    client_gone: threading.Event = field(repr=False)
    sent: Sent = field(repr=False, default_factory=Sent)
