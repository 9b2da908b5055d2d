"""Requests as Discord signs them, with a key of the tests' own."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from builders import NOON
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from turnkeeper.domain.press import DETAILS_BUTTON
from turnkeeper.interfaces.interactions.app import InteractionsApp

PING: dict[str, Any] = {"type": 1, "id": "1", "application_id": "2", "version": 1}
NOW_S = int(NOON.timestamp())


def a_press(
    button: str = DETAILS_BUTTON,
    *,
    message_id: str = "1001",
    user_id: str = "7",
    permissions: str = "0",
    kind: int = 3,
    locale: str = "en-US",
) -> dict[str, Any]:
    return {
        "version": 1,
        "type": kind,
        "token": "unique_interaction_token",
        "id": "846462639134605312",
        "application_id": "290926444748734465",
        "guild_id": "678",
        "channel_id": "456",
        "locale": locale,
        "member": {"user": {"id": user_id, "username": "nyaa"}, "permissions": permissions},
        "message": {"id": message_id, "channel_id": "456"},
        "data": {"custom_id": button, "component_type": 2, "id": 1},
    }


@dataclass(frozen=True, slots=True)
class Signer:
    """Who holds the application's key: Discord, or somebody who would like to be it."""

    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_key(self) -> str:
        return self.key.public_key().public_bytes_raw().hex()

    def headers(self, body: bytes, *, at_s: int | str = NOW_S) -> dict[str, str]:
        signature = self.key.sign(str(at_s).encode() + body).hex()
        return {"X-Signature-Ed25519": signature, "X-Signature-Timestamp": str(at_s)}


@dataclass(frozen=True, slots=True)
class Answered:
    """What a WSGI application answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


def served(
    app: InteractionsApp,
    body: bytes,
    headers: Mapping[str, str],
    environ: Mapping[str, object] = MappingProxyType({}),
) -> Answered:
    """What the application answers to such a request, as a server would hand it over.

    Args:
        environ: What else the server says, in place of what it would.
    """
    began: list[tuple[str, list[tuple[str, str]]]] = []
    all_of_it: dict[str, object] = {
        "REQUEST_METHOD": "POST",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
        **environ,
    }
    pieces = app(all_of_it, lambda status, given: began.append((status, given)))
    said = b"".join(pieces)
    ((status, given),) = began
    answered = Answered(int(status.split()[0]), dict(given), said)
    assert status.split(" ", 1)[1]
    assert answered.headers["Content-Length"] == str(len(said))
    assert answered.headers["Content-Type"] == "application/json"
    assert isinstance(answered.data, dict)
    return answered
