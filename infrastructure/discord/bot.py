"""What all turns of one bot share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.sink import Spoken
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.webhooks import Webhooks

OnNotice = Callable[[str, str, FallbackNotice, Spoken], None]
"""Called with message id, channel id, notice and its words, once the notice's button is there."""


def keep_no_details(
    message_id: str, channel_id: str, notice: FallbackNotice, spoken: Spoken
) -> None:
    """Keep no details; who presses the button is told that there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """One bot: its connection, its webhooks, its manners.

    Attributes:
        on_notice: Keeps the details of a fallback notice for whoever presses its button.
    """

    client: DiscordClient
    webhooks: Webhooks
    clock: Clock
    runner: Runner
    manners: Manners = field(default_factory=Manners)
    on_notice: OnNotice = keep_no_details
