"""Chooses the way by which a message is edited."""

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.errors import SinkError
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.payloads import Payload
from turnkeeper.infrastructure.discord.place import id_of
from turnkeeper.infrastructure.discord.webhooks import Webhooks


def edit_of(
    message_id: str, place: Place, payload: Payload, *, webhook_id: str | None, webhooks: Webhooks
) -> Call:
    """The call that edits a message: only who posted it can.

    Raises:
        SinkError: A webhook posted it whose token nobody knows any more.
    """
    if webhook_id is None:
        return calls.edit_message(id_of(place), message_id, payload)
    webhook = webhooks.known(webhook_id)
    if webhook is None:
        raise SinkError(
            f"message {message_id} was posted by webhook {webhook_id}, whose token nobody knows"
            " any more, so it cannot be edited"
        )
    return calls.edit_webhook_message(webhook, message_id, payload, thread_id=place.thread_id)
