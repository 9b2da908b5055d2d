"""What one invocation has posted; safe to read while a stray thread still posts."""

from threading import Lock

from turnkeeper.domain.outcome import Delivery


class DeliveryLog:
    """Append-only until it is sealed.

    Attributes:
        is_sealed: Whether nothing more may be posted.
    """

    is_sealed = False

    def __init__(self) -> None:
        self._lock = Lock()  # guards both below, so that nothing slips in beside the seal
        self._deliveries: list[Delivery] = []

    def add(self, delivery: Delivery) -> bool:
        """Note what is now in the channel; False once sealed: then it must be taken back."""
        with self._lock:
            if self.is_sealed:
                return False
            self._deliveries.append(delivery)
            return True

    def replace(self, before: Delivery, after: Delivery) -> bool:
        """Note that a message says something else now; False once sealed: then it must not."""
        with self._lock:
            if self.is_sealed:
                return False
            if before in self._deliveries:
                self._deliveries[self._deliveries.index(before)] = after
            return True

    def seal(self) -> tuple[Delivery, ...]:
        """Close the log and return what it holds; sealing twice gives the same."""
        with self._lock:
            self.is_sealed = True
            return tuple(self._deliveries)
