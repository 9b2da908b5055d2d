"""What every reader of channels does."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import pytest

from turnkeeper.application.ports.channel_reader import ChannelReader, Place

HERE = Place(channel_id="here")


class Post(Protocol):
    """Posts a text there, as a webhook or as the bot itself; returns the message's id."""

    def __call__(self, place: Place, text: str, webhook_id: str | None = None) -> str: ...


@dataclass(frozen=True, kw_only=True)
class ReadChannel:
    """A reader, and the hands that fill what it reads.

    Attributes:
        reader: Under test.
        post: Fills a channel.
        began: Before anything was posted.
    """

    reader: ChannelReader
    post: Post
    began: datetime

    def texts(self, place: Place = HERE) -> list[str]:
        return [one.text for one in self.reader.messages_since(place, self.began)]


class ChannelReaderContract:
    """Subclass as Test… and give a `channel` fixture."""

    @pytest.fixture
    def channel(self) -> ReadChannel:
        raise NotImplementedError

    def test_messages_stand_in_the_order_of_posting(self, channel: ReadChannel) -> None:
        for text in ("one", "two", "three"):
            channel.post(HERE, text)

        assert channel.texts() == ["one", "two", "three"]

    def test_an_empty_channel_has_none(self, channel: ReadChannel) -> None:
        assert channel.texts() == []

    def test_what_was_posted_before_is_left_out(self, channel: ReadChannel) -> None:
        channel.post(HERE, "one")
        (one,) = channel.reader.messages_since(HERE, channel.began)

        later = one.posted_at + timedelta(seconds=1)
        assert channel.reader.messages_since(HERE, later) == ()
        assert channel.reader.messages_since(HERE, one.posted_at) == (one,)

    def test_the_bots_own_messages_are_known_as_such(self, channel: ReadChannel) -> None:
        message_id = channel.post(HERE, "one")

        (one,) = channel.reader.messages_since(HERE, channel.began)
        assert (one.message_id, one.author_id, one.webhook_id) == (
            message_id,
            channel.reader.own_id(),
            None,
        )

    def test_those_of_a_webhook_are_the_webhooks(self, channel: ReadChannel) -> None:
        channel.post(HERE, "one", "77")

        (one,) = channel.reader.messages_since(HERE, channel.began)
        assert one.webhook_id == "77"

    def test_a_thread_is_a_place_of_its_own(self, channel: ReadChannel) -> None:
        within = Place(channel_id="here", thread_id="within")
        channel.post(HERE, "one")
        channel.post(within, "two")

        assert (channel.texts(), channel.texts(within)) == (["one"], ["two"])

    def test_a_deleted_message_is_gone(self, channel: ReadChannel) -> None:
        one = channel.post(HERE, "one")
        channel.post(HERE, "two")

        assert channel.reader.delete_message(HERE, one)
        assert channel.texts() == ["two"]

    def test_deleting_twice_is_gone_all_the_same(self, channel: ReadChannel) -> None:
        one = channel.post(HERE, "one")
        channel.reader.delete_message(HERE, one)

        assert channel.reader.delete_message(HERE, one)

    def test_a_webhook_is_deleted(self, channel: ReadChannel) -> None:
        channel.post(HERE, "one", "77")

        assert channel.reader.delete_webhook("77")
        assert channel.reader.delete_webhook("77")
