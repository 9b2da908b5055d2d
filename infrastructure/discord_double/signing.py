"""Signatures of interactions, good ones and others."""

from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from turnkeeper.domain.frozen import frozen

Manner = Literal["honest", "forged", "stale", "truncated", "unsigned", "replayed"]
STALE_S = 3600


@frozen
class Signed:
    """A body, and the headers that vouch for it."""

    body: bytes
    headers: tuple[tuple[str, str], ...]


class Signer:
    """A key pair for one application."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._other = Ed25519PrivateKey.generate()

    @property
    def public_key(self) -> str:
        """In hex, as the application's settings show it."""
        return self._key.public_key().public_bytes_raw().hex()

    def signed(self, body: bytes, now_s: int, manner: Manner) -> Signed:
        """Sign a body; how a replay differs is its sender's business."""
        timestamp = str(now_s - STALE_S if manner == "stale" else now_s)
        key = self._other if manner == "forged" else self._key
        signature = key.sign(timestamp.encode() + body).hex()
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
        if manner != "unsigned":
            headers = (
                *headers,
                ("X-Signature-Ed25519", signature),
                ("X-Signature-Timestamp", timestamp),
            )
        return Signed(
            body=body[: len(body) // 2] if manner == "truncated" else body, headers=headers
        )
