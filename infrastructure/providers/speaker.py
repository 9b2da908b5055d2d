"""Who answers a call; for all adapters of providers."""

from datetime import datetime

from turnkeeper.domain.frozen import frozen


@frozen
class Speaker:
    """Who answers, and what is needed to understand its errors.

    Attributes:
        provider: By whose rules errors are recognised.
        status: Of the reply.
        now: When it came.
        secrets: The keys in use.
    """

    provider: str
    status: int
    now: datetime
    secrets: tuple[str, ...] = ()
