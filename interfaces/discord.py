"""A Discord bot on the parts of a turnkeeper. Loaded only where there is a bot's token."""

from collections.abc import Callable, Iterator

from turnkeeper.application.expire_notices import ExpireNotices
from turnkeeper.application.ports.channel_reader import ChannelReader
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.notice_editor import DiscordNoticeEditor
from turnkeeper.infrastructure.discord.reader import DiscordChannelReader
from turnkeeper.infrastructure.discord.transport import BASE_URL, Transport
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore
from turnkeeper.infrastructure.discord.webhooks import Webhooks
from turnkeeper.infrastructure.name_lookup import NameLookup
from turnkeeper.interfaces.settings import Settings


def open_bot(
    settings: Settings, clock: Clock, runner: Runner, notices: Notices, webhooks: WebhookStore
) -> Iterator[Bot]:
    """The bot whose token is set, until its connections are closed.

    Raises:
        SettingsError: None is.
    """
    if settings.discord_token is None:
        raise SettingsError("there is no Discord bot: set DISCORD_TOKEN to its token")
    transport = Transport(
        Secret(settings.discord_token),
        base_url=settings.discord_url or BASE_URL,
        names=NameLookup(runner),
    )
    client = DiscordClient(transport, clock=clock)
    yield Bot(
        client=client,
        webhooks=Webhooks(client, webhooks, clock=clock),
        clock=clock,
        runner=runner,
        notices=notices,
    )
    client.close()


def reader_of(bot: Bot) -> ChannelReader:
    """How channels are looked at outside of turns."""
    return DiscordChannelReader(bot)


def expiry_of(bot: Bot, notices: Notices, clock: Clock) -> Callable[[], None]:
    """What takes the buttons of old notices out of use, now and then."""
    return ExpireNotices(notices=notices, editor=DiscordNoticeEditor(bot), clock=clock).flush
