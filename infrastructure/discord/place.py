"""Where in Discord something is."""

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.application.ports.sink import Target
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.discord.snowflake import is_snowflake


def place_of(thing: Target | Delivery) -> Place:
    """Where a turn speaks, or a message is."""
    return Place(channel_id=thing.channel_id, thread_id=thing.thread_id)


def place_asked_for(request: TurnRequest) -> Place:
    """Where a request is answered."""
    if request.parent_channel_id is None:
        return Place(channel_id=request.channel_id)
    return Place(channel_id=request.parent_channel_id, thread_id=request.channel_id)


def id_of(place: Place) -> str:
    """What the bot's own routes call it: a thread is a channel to them."""
    return place.thread_id or place.channel_id


def link_to(message_id: str, place: Place, *, server_id: str | None) -> str:
    """Where people find a message.

    Args:
        server_id: The server, or None in a direct message.
    """
    where = server_id if server_id is not None and is_snowflake(server_id) else "@me"
    return f"https://discord.com/channels/{where}/{id_of(place)}/{message_id}"
