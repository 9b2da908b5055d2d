"""What looks at channels from outside any turn, on the Discord double."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from contracts.channel_reader import HERE, ChannelReaderContract, ReadChannel
from discord_bots import ADA, Stand, Turn, standing

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.notice import NoticeDetails, NoticePlace
from turnkeeper.domain.press import DETAILS_BUTTON
from turnkeeper.infrastructure.discord.notice_editor import DiscordNoticeEditor
from turnkeeper.infrastructure.discord.reader import PAGE, DiscordChannelReader
from turnkeeper.infrastructure.discord_double.message import Author

DETAILS = NoticeDetails(title="Fallback used", lead="", lines=(), model="beta", slot=2)


@pytest.fixture
def stand() -> Iterator[Stand]:
    with standing() as stand:
        yield stand


class TestDiscordChannelReader(ChannelReaderContract):
    @pytest.fixture
    def channel(self, stand: Stand) -> ReadChannel:
        here = stand.double.add_channel()
        rooms = {"here": here, "within": stand.double.add_thread(here)}
        hooks = {"77": stand.double.add_webhook(here).id}
        numbers = {hooks["77"]: "77"}

        class Reader(DiscordChannelReader):
            """Calls the rooms by the contract's names."""

            def messages_since(self, place, since):  # type: ignore[no-untyped-def]
                found = super().messages_since(_real(place), since)
                return tuple(
                    replace(one, webhook_id=numbers.get(one.webhook_id or "")) for one in found
                )

            def delete_message(self, place, message_id, *, webhook_id=None):  # type: ignore[no-untyped-def]
                return super().delete_message(_real(place), message_id, webhook_id=webhook_id)

            def delete_webhook(self, webhook_id: str) -> bool:
                return super().delete_webhook(hooks[webhook_id])

        def _real(place: Place) -> Place:
            within = None if place.thread_id is None else rooms[place.thread_id]
            return Place(channel_id=rooms[place.channel_id], thread_id=within)

        def post(place: Place, text: str, webhook_id: str | None = None) -> str:
            author = stand.double.bot
            if webhook_id is not None:
                hook = hooks[webhook_id]
                author = Author(id=hook, name="Hook", bot=True, webhook_id=hook)
            return stand.double.say(rooms[place.thread_id or place.channel_id], text, author=author)

        return ReadChannel(
            reader=Reader(stand.bot), post=post, began=stand.clock.now() - timedelta(seconds=1)
        )

    def test_more_than_a_page_is_read(self, channel: ReadChannel) -> None:
        for number in range(PAGE + 5):
            channel.post(HERE, str(number))

        assert channel.texts() == [str(number) for number in range(PAGE + 5)]


def test_a_webhook_deletes_what_it_posted_before_a_restart(stand: Stand) -> None:
    channel = stand.double.add_channel()
    thread = stand.double.add_thread(channel)
    request = stand.request(thread, parent_channel_id=channel, persona=ADA)
    delivery = Turn.begun(stand, request).post("hello")
    stand.double.revoke(channel, "MANAGE_MESSAGES")
    place = Place(channel_id=channel, thread_id=thread)

    reader = DiscordChannelReader(stand.bot)

    assert reader.delete_message(place, delivery.message_id, webhook_id=delivery.webhook_id)
    assert [one.by for one in stand.double.deleted(thread)] == ["webhook"]


def test_a_channel_that_is_gone_says_so(stand: Stand) -> None:
    channel = stand.double.add_channel()
    stand.double.delete_channel(channel)
    reader = DiscordChannelReader(stand.bot)

    with pytest.raises(DestinationGone):
        reader.messages_since(Place(channel_id=channel), stand.clock.now())


@pytest.mark.parametrize("more", [{}, {"persona": ADA}], ids=["bot", "persona"])
def test_the_button_of_an_old_notice_can_be_pressed_no_more(
    stand: Stand, more: dict[str, object]
) -> None:
    channel = stand.double.add_channel()
    turn = Turn.begun(stand, stand.request(channel, **more))
    delivery = turn.post("placeholder")
    place = _place_of(stand, delivery.message_id, channel, delivery.webhook_id)

    DiscordNoticeEditor(stand.bot).disable(place, DETAILS)

    (message,) = stand.double.visible(channel)
    (button,) = message.components[0]["components"]
    assert (button["custom_id"], button["disabled"]) == (DETAILS_BUTTON, True)


def test_a_notice_that_is_gone_is_no_error(stand: Stand) -> None:
    channel = stand.double.add_channel()
    message_id = stand.double.say(channel, "notice", author=stand.double.bot)
    stand.double.remove(message_id)

    DiscordNoticeEditor(stand.bot).disable(_place_of(stand, message_id, channel, None), DETAILS)


def test_a_notice_of_an_unknown_webhook_stays_as_it_is(stand: Stand) -> None:
    channel = stand.double.add_channel()
    editor = DiscordNoticeEditor(stand.bot)

    with pytest.raises(SinkError):
        editor.disable(_place_of(stand, "1", channel, "123"), DETAILS)


def _place_of(stand: Stand, message_id: str, channel: str, webhook_id: str | None) -> NoticePlace:
    return NoticePlace(
        server_id=stand.double.guild_id,
        channel_id=channel,
        message_id=message_id,
        webhook_id=webhook_id,
    )
