"""Where a host did not say how its channels are looked at from outside a turn."""

from datetime import datetime
from typing import NoReturn

from turnkeeper.application.ports.channel_reader import ChannelReader, Place
from turnkeeper.domain.errors import SinkError


class NoChannel(ChannelReader):
    """Refuses everything, so that what dead turns left is seen as stuck."""

    def own_id(self) -> str:
        _refuse()

    def messages_since(self, place: Place, since: datetime) -> NoReturn:
        _refuse()

    def delete_message(
        self, place: Place, message_id: str, *, webhook_id: str | None = None
    ) -> bool:
        _refuse()

    def delete_webhook(self, webhook_id: str) -> bool:
        _refuse()


def _refuse() -> NoReturn:
    raise SinkError("no channel can be looked at: give Turnkeeper.open a channel_reader")
