"""Chooses as whom a turn speaks."""

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.discord.content import speaker_name
from turnkeeper.infrastructure.discord.voice import Voice
from turnkeeper.infrastructure.discord.webhooks import Webhooks


def voice_of(
    request: TurnRequest, place: Place, webhooks: Webhooks, *, deadline: Deadline
) -> Voice | None:
    """A user who is spoken for, or a persona beside the main one; None for the bot itself.

    A persona that cannot have its webhook speaks as the bot. A user does not.

    Raises:
        SinkError: There is no webhook in the user's name.
        DestinationGone: ... as nobody can be reached in the channel.
    """
    user, persona = request.impersonated, request.persona
    if user is not None:
        webhook = webhooks.make_temporary(place.channel_id, user.name, deadline=deadline)
        name = speaker_name(user.name)
        return Voice(webhook=webhook, name=name, avatar_url=user.avatar_url, is_temporary=True)
    if not persona.is_alter or request.occasion.is_dm:
        return None
    try:
        webhook = webhooks.of(request.server, place.channel_id, deadline=deadline)
    except DestinationGone:
        raise
    except SinkError:
        return None
    return Voice(webhook=webhook, name=speaker_name(persona.name), avatar_url=persona.avatar_url)
