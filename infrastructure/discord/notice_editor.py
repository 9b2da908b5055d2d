"""Takes the button of an old notice out of use."""

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.application.ports.notice_editor import NoticeEditor
from turnkeeper.domain.notice import NoticeDetails, NoticePlace
from turnkeeper.domain.press import DETAILS_BUTTON
from turnkeeper.infrastructure.discord import payloads
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.codes import ALREADY_GONE, CHANNEL_GONE
from turnkeeper.infrastructure.discord.edits import edit
from turnkeeper.infrastructure.discord.errors import DiscordError


class DiscordNoticeEditor(NoticeEditor):
    """Edits notices as whoever posted them."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot

    def disable(self, place: NoticePlace, details: NoticeDetails) -> None:
        payload = payloads.button(details.title, DETAILS_BUTTON, is_disabled=True)
        where = Place(channel_id=place.channel_id, thread_id=place.thread_id)
        try:
            edit(self._bot, place.message_id, where, payload, webhook_id=place.webhook_id)
        except DiscordError as error:
            if error.code != ALREADY_GONE and error.code not in CHANNEL_GONE:
                raise
