"""Looks for a message of which nobody knows whether it was posted."""

from typing import Any

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import SinkError
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.patience import Patience
from turnkeeper.infrastructure.discord.payloads import Payload
from turnkeeper.infrastructure.discord.place import id_of
from turnkeeper.infrastructure.discord.snowflake import is_snowflake

PAUSES_S = (1.0, 2.0)
_LATEST = 50


class Searcher:
    """Finds a webhook's message by what it says, among those that are new in the channel.

    Args:
        since: The id of a message that was there before the turn, or None.
    """

    def __init__(
        self, client: DiscordClient, *, clock: Clock, place: Place, since: str | None
    ) -> None:
        self._client = client
        self._clock = clock
        self._place = place
        self._latest = _number(since)

    def saw(self, message_id: str) -> None:
        """Everything that is looked for from now on is newer than this."""
        self._latest = max(self._latest, _number(message_id))

    def find(self, payload: Payload, *, webhook_id: str, deadline: Deadline) -> str | None:
        """The id of the message, or None where it is not found.

        Without a message to begin behind nothing is found, as it might be an older one.
        """
        content = payload.get("content")
        if not content or not self._latest:
            return None
        patience = Patience(self._clock, deadline=deadline, stop=None)
        call = calls.list_messages(id_of(self._place), limit=_LATEST)
        try:
            for pause_s in PAUSES_S:
                patience.rest(pause_s, "a look at what was posted")
                messages = self._client.make(call, deadline=deadline)
                found = self._among(messages, webhook_id, content.strip())
                if found is not None:
                    return found
        except SinkError:
            return None
        return None

    def _among(self, messages: Any, webhook_id: str, content: str) -> str | None:
        for one in messages if isinstance(messages, list) else ():
            if (
                isinstance(one, dict)
                and one.get("webhook_id") == webhook_id
                and str(one.get("content")).strip() == content
                and _number(one.get("id")) > self._latest
            ):
                return str(one["id"])
        return None


def _number(message_id: Any) -> int:
    return int(message_id) if is_snowflake(str(message_id)) else 0
