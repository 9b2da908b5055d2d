"""What holds for all requests of one call to a provider; for all adapters of providers."""

from turnkeeper.application.ports.runner import Cancelled, Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.http import HttpError, HttpErrorKind
from turnkeeper.infrastructure.providers.provider_errors import http_failure

LONGEST_READ_S = 600.0


@frozen
class CallTerms:
    """With whose key, until when, and by whose rules.

    Attributes:
        speaker: By whose rules errors are recognised.
        key: The key, or None where none is needed.
        stop: Asks to end it.
        deadline: By when it must have ended.
    """

    speaker: str
    key: Secret | None
    stop: Stop
    deadline: Deadline

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys in use, to be taken out of whatever is said."""
        return (self.key.reveal(),) if self.key else ()

    def read_timeout_s(self, now_s: float) -> float:
        """The longest that a read may take.

        Raises:
            HttpError: The deadline has passed.
        """
        left_s = self.deadline.at_s - now_s
        if left_s <= 0:
            raise HttpError(HttpErrorKind.READ_TIMEOUT, "no time was left to ask")
        return left_s if left_s < LONGEST_READ_S else LONGEST_READ_S

    def failure_of(self, error: HttpError) -> Failure:
        """The failure that an error of the network is.

        Raises:
            Cancelled: It is none: the stop was set.
        """
        if error.kind is HttpErrorKind.CANCELLED:
            raise Cancelled(str(error)) from error
        failure = http_failure(error, provider=self.speaker, secrets=self.secrets)
        if error.kind is HttpErrorKind.BAD_REQUEST_VALUE and not all(map(_fits, self.secrets)):
            return replace(failure, kind=FailureKind.AUTH, rule="key-unsendable")
        return failure


def _fits(key: str) -> bool:
    """Whether a header can carry it."""
    return key.isascii() and key.isprintable() and key == key.strip()
