"""What all turns of one bot share."""

from dataclasses import field

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.webhooks import Webhooks


@frozen
class Bot:
    """One bot: its connection, its webhooks, its manners.

    Attributes:
        notices: Where it is kept what the button of a fallback notice shows.
    """

    client: DiscordClient
    webhooks: Webhooks
    clock: Clock
    runner: Runner
    notices: Notices
    manners: Manners = field(default_factory=Manners)
