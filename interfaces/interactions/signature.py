"""Whether a request is Discord's, and whether it is a new one."""

import heapq
import re
from threading import Lock

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.errors import SettingsError

WINDOW_S = 300
MAX_SEEN = 65_536

_KEY = re.compile(r"[0-9a-fA-F]{64}")
_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


class SignatureCheck:
    """Trusts each request once. Safe to use from several threads.

    What another process has seen is not known here, so each process trusts it once. That does no
    harm: details are only read, and a turn that was stopped stays stopped.

    Args:
        public_key: The application's, as Discord shows it: 64 hexadecimal digits.
        window_s: How far a request's time may be from ours.
        max_seen: How many requests are remembered. Where there are more of them within the window,
            those of the oldest times are no longer trusted.

    Raises:
        SettingsError: It is no such key.
    """

    def __init__(
        self, public_key: str, *, clock: Clock, window_s: int = WINDOW_S, max_seen: int = MAX_SEEN
    ) -> None:
        self._key = _key_of(public_key)
        self._clock = clock
        self._window_s = window_s
        self._max_seen = max_seen
        self._lock = Lock()  # guards the three below
        self._seen: set[bytes] = set()
        self._by_time: list[tuple[int, bytes]] = []
        self._trusted_after = -1

    def trusts(self, signature: str, timestamp: str, body: bytes) -> bool:
        """Whether it was signed, is of these minutes, and was not trusted before."""
        if not _SIGNATURE.fullmatch(signature) or not _TIMESTAMP.fullmatch(timestamp):
            return False
        at_s, raw = int(timestamp), bytes.fromhex(signature)
        now_s = self._clock.now().timestamp()
        if abs(now_s - at_s) > self._window_s:
            return False
        try:
            self._key.verify(raw, timestamp.encode("ascii") + body)
        except InvalidSignature:
            return False
        return self._is_new(at_s, raw, now_s)

    def _is_new(self, at_s: int, raw: bytes, now_s: float) -> bool:
        with self._lock:
            while self._by_time and self._by_time[0][0] < now_s - self._window_s:
                self._forget_oldest()
            if raw in self._seen or at_s <= self._trusted_after:
                return False
            self._seen.add(raw)
            heapq.heappush(self._by_time, (at_s, raw))
            if len(self._seen) > self._max_seen:
                self._trusted_after = max(self._trusted_after, self._forget_oldest())
            return True

    def _forget_oldest(self) -> int:
        at_s, raw = heapq.heappop(self._by_time)
        self._seen.discard(raw)
        return at_s


def _key_of(text: str) -> Ed25519PublicKey:
    if not _KEY.fullmatch(text.strip()):
        raise SettingsError(
            "the application's public key is 64 hexadecimal digits, not"
            f" {len(text.strip())} characters like these; copy it from Discord's developer portal"
        )
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text.strip()))
