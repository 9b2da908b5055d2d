"""Edits a message as whoever posted it: nobody else can."""

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.errors import SinkError
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.codes import WEBHOOK_GONE
from turnkeeper.infrastructure.discord.errors import DiscordError
from turnkeeper.infrastructure.discord.payloads import Payload
from turnkeeper.infrastructure.discord.place import id_of


def edit(
    bot: Bot, message_id: str, place: Place, payload: Payload, *, webhook_id: str | None
) -> None:
    """Put the payload in the place of what the message says.

    Raises:
        SinkError: It still says what it said.
    """
    deadline = bot.client.within(bot.manners.post_within_s)
    if webhook_id is None:
        call = calls.edit_message(id_of(place), message_id, payload)
        bot.client.make(call, deadline=deadline)
        return
    webhook = bot.webhooks.known(webhook_id)
    if webhook is None:
        raise SinkError(
            f"message {message_id} was posted by webhook {webhook_id}, whose token nobody knows"
            " any more, so it cannot be edited"
        )
    call = calls.edit_webhook_message(webhook, message_id, payload, thread_id=place.thread_id)
    try:
        bot.client.make(call, deadline=deadline)
    except DiscordError as error:
        if error.code in WEBHOOK_GONE:
            bot.webhooks.drop(webhook)
        raise
