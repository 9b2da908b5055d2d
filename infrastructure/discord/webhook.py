"""A webhook: who else can speak in a channel."""

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.secret import Secret


@frozen
class Webhook:
    """A webhook that this application made.

    Attributes:
        id: Its id.
        channel_id: The channel it speaks in, and in whose threads.
        token: Whoever has it can speak.
    """

    id: str
    channel_id: str
    token: Secret
