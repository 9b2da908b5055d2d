"""What keeps a message from being posted twice."""

from hashlib import sha256
from threading import Lock

MAX_CHARS = 25


class Nonces:
    """The nonces of one turn. Safe to use from several threads.

    Discord answers a nonce with the message that has it, and fails where that was deleted; so
    one whose message may be gone is never sent again.
    """

    def __init__(self) -> None:
        self._lock = Lock()  # guards the two below
        self._of_message: dict[str, str] = {}
        self._spent: dict[str, int] = {}

    def fresh(self, nonce: str) -> str:
        """What is sent for this nonce."""
        with self._lock:
            times = self._spent.get(nonce, 0)
        if times == 0 and len(nonce) <= MAX_CHARS:
            return nonce
        return sha256(f"{nonce}/{times}".encode()).hexdigest()[:MAX_CHARS]

    def used(self, nonce: str, message_id: str) -> None:
        """The message with this nonce is there."""
        with self._lock:
            self._of_message[message_id] = nonce

    def spend(self, message_id: str) -> None:
        """The message is about to go."""
        with self._lock:
            nonce = self._of_message.pop(message_id, None)
            if nonce is not None:
                self._spent[nonce] = self._spent.get(nonce, 0) + 1
