"""As whom a turn speaks."""

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord.webhook import Webhook


@frozen
class Voice:
    """A webhook, and the name and picture that it speaks under.

    Attributes:
        webhook: What speaks.
        name: Under which name.
        avatar_url: The picture, or None.
        is_temporary: Whether the webhook was made for this turn alone; the bot does not speak in
            its place, as it would not be the one who is to speak.
    """

    webhook: Webhook
    name: str
    avatar_url: str | None = None
    is_temporary: bool = False
