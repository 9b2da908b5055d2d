"""The servers of a soak, their users, models, keys and quotas; and a turnkeeper among them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event

from builders import a_request
from chaos.providers import FALLBACK, PRIMARY, Addresses, marked
from chaos.script import CHANNELS, Fate
from file_channel import BOT, FileChannelReader

from turnkeeper.application.ports.channel_reader import ChannelReader, Place, PostedMessage
from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import SavedProvider
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.discord.reader import DiscordChannelReader
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

WAYS = ("openai", "openrouter", "google", "anthropic", "groq")
"""The providers of the servers' first models; the last one's host has no address."""
SPARE = "mistral"
OWN = "deepseek"
NO_SUCH_HOST = "http://no-such-host.invalid/v1"
ODD = 7
"""Each so many-th server is odd: its content filter stops; users 0 pay for themselves."""
KEYS = 3
OPENING_S = 30.0

LIMITS: dict[str, object] = {
    "connect_s": 2.0,
    "first_progress_s": 1.5,
    "last_first_progress_s": 5.0,
    "silence_ms": 1500,
    "settle_ms": 500,
    "attempt_s": 8.0,
    "turn_s": 40.0,
    "channel_wait_s": 5.0,
    "queue_s": 30.0,
    "key_wait_s": 1.0,
}


def settings_of(folder: Path, url: str, at: Addresses, **more: object) -> Settings:
    """Short limits, and all providers at the wall but the one that has no address."""
    base_urls = {
        "openai": f"{at.wall}/v1",
        "openrouter": f"{at.wall}/api/v1",
        "google": f"{at.wall}/v1beta",
        "anthropic": f"{at.wall}/v1",
        "groq": NO_SUCH_HOST,
        SPARE: f"{at.wall}/v1",
        OWN: f"{at.wall}/v1",
    }
    values = {
        "data_dir": folder,
        "database_url": url,
        "base_urls": base_urls,
        "discord_token": at.token,
        "discord_url": at.discord,
        "live_limits": False,
        "processes": 4,
        **LIMITS,
    }
    return Settings(**(values | more))


def opened(settings: Settings, folder: Path, clock: Clock = SystemClock()) -> Turnkeeper:
    """A turnkeeper that looks at its channels wherever they are."""
    reader = EveryChannel(folder)
    keeper = Turnkeeper.open(settings, clock=clock, channel_reader=reader)
    reader.sees(DiscordChannelReader(keeper._container.discord_bot()))
    return keeper


def settle(keeper: Turnkeeper, servers: int) -> None:
    """Found so many servers."""
    configure = keeper.configure
    models = {way: configure.register_model(f"{way}:{PRIMARY}").id for way in (*WAYS, OWN)}
    spare = configure.register_model(f"{SPARE}:{FALLBACK}").id
    for number in range(servers):
        server, way = Owner.server(f"guild-{number}"), WAYS[number % len(WAYS)]
        for key in range(KEYS):
            configure.add_key(server, way, f"sk-{way}-{number}-{key}")
            configure.add_key(server, SPARE, f"sk-spare-{number}-{key}")
        configure.use_model(server.id, models[way])
        configure.set_fallbacks(server.id, (spare,))
        configure.set_quota(server.id, QuotaRule(enabled=True, daily_per_user=quota_of(number)))
        if number % ODD == 0:
            configure.set_content_filter(server.id, ContentFilterPolicy.STOP)
            _pays(keeper, f"user-{number}-0", models[OWN])


def quota_of(server_no: int) -> int:
    """How many turns a day each user of the server has."""
    return 10 + server_no % 12


def _pays(keeper: Turnkeeper, user: str, model: str) -> None:
    keeper.configure.add_key(Owner.user(user), OWN, f"sk-own-{user}")
    row = SavedProvider(provider=OWN, text_enabled=True)
    keeper.configure.set_personal_provider(user, row, model=model)


def request_of(fate: Fate, at: Addresses) -> TurnRequest:
    """What a turn is asked."""
    return a_request(
        marked(fate.fault, fate.number),
        server_id=fate.server,
        channel_id=channel_of(fate, at),
        user_id=fate.user,
        trigger_id=fate.trigger,
        audience=Audience.CALLER if fate.is_for_caller else Audience.PERSON,
    )


def channel_of(fate: Fate, at: Addresses) -> str:
    """Where it is answered."""
    place = fate.server_no * CHANNELS + fate.channel_no
    if fate.is_in_discord:
        return at.channels[place // 3 % len(at.channels)]
    return f"folder-{place}"


def folder_of(root: Path, channel_id: str) -> Path:
    """Where the messages of a channel that is a folder lie."""
    folder = root / "channels" / channel_id
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class EveryChannel(ChannelReader):
    """Looks into folders, and into Discord once it sees it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._is_there = Event()

    def sees(self, discord: ChannelReader) -> None:
        self._discord = discord
        self._is_there.set()

    def own_id(self) -> str:
        return self._in_discord().own_id()

    def messages_since(self, place: Place, since: datetime) -> tuple[PostedMessage, ...]:
        messages = self._of(place).messages_since(place, since)
        return tuple(
            replace(one, author_id=self.own_id()) if one.author_id == BOT else one
            for one in messages
        )

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        return self._of(place).delete_message(place, message_id, webhook_id=webhook_id)

    def delete_webhook(self, webhook_id: str) -> bool:
        return self._in_discord().delete_webhook(webhook_id)

    def _of(self, place: Place) -> ChannelReader:
        if place.channel_id.isdecimal():
            return self._in_discord()
        return FileChannelReader(folder_of(self._root, place.channel_id))

    def _in_discord(self) -> ChannelReader:
        self._is_there.wait(OPENING_S)
        return self._discord
