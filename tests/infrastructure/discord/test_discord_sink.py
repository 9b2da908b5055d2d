"""The sink against a Discord that keeps state; waits pass on their common clock."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest
from builders import a_failure
from contracts.deliver import DeliverContract
from discord_bots import ADA, BEN, Stand, Turn, standing

from turnkeeper.application.ports.sink import Sink, Spoken, TakesBackMany, Target, TellsTroubles
from turnkeeper.domain.errors import DestinationGone, SinkError, StoreError, StoreUnavailable
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.notice import NoticeDetails
from turnkeeper.domain.occasion import Occasion
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult, TurnStatus
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Slot
from turnkeeper.domain.press import DETAILS_BUTTON
from turnkeeper.domain.turn import AttemptFailure, TurnResult
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.errors import (
    BadBotToken,
    DiscordError,
    Halted,
    NothingToShow,
    WaitTooLong,
)
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord.sink import DiscordSink
from turnkeeper.infrastructure.discord_double.fault import (
    Fault,
    LostResponse,
    ServerError,
    When,
)
from turnkeeper.infrastructure.discord_double.faults import FAULTS
from turnkeeper.infrastructure.discord_double.limits import DEFAULT
from turnkeeper.infrastructure.discord_double.mentions import NOBODY
from turnkeeper.infrastructure.memory.notices import MemoryNotices

SPOKEN = Spoken(title="No answer", text="The model did not answer.", tips=("Try again.",))


@pytest.fixture
def stand() -> Iterator[Stand]:
    with standing() as stand:
        yield stand


@pytest.fixture
def channel(stand: Stand) -> str:
    return stand.double.add_channel()


@pytest.fixture
def thread(stand: Stand, channel: str) -> str:
    return stand.double.add_thread(channel)


def as_bot(stand: Stand, channel: str) -> Turn:
    return Turn.begun(stand, stand.request(channel))


def as_ada(stand: Stand, channel: str, **more: object) -> Turn:
    return Turn.begun(stand, stand.request(channel, persona=ADA, **more))


def as_ben(stand: Stand, channel: str) -> Turn:
    return Turn.begun(stand, stand.request(channel, impersonated=BEN))


def in_thread(stand: Stand, channel: str, thread: str, **more: object) -> Turn:
    return Turn.begun(stand, stand.request(thread, parent_channel_id=channel, **more))


# ── the port's contract, in every voice and place ───────────────────────────────────────────


class DiscordContract(DeliverContract):
    more: ClassVar[dict[str, object]]
    is_in_thread = False

    @pytest.fixture
    def sink(self, stand: Stand) -> Sink:
        return DiscordSink(stand.bot)

    @pytest.fixture
    def target(self, sink: Sink, stand: Stand, channel: str, thread: str) -> Target:
        self.stand, self.place = stand, channel
        request = stand.request(channel, **self.more)
        if self.is_in_thread:
            self.place = thread
            request = stand.request(thread, parent_channel_id=channel, **self.more)
        return sink.prepare(request)

    def shown(self, sink: Sink) -> tuple[str, ...]:
        return tuple(self.stand.texts(self.place))


class TestAsTheBot(DiscordContract):
    more: ClassVar[dict[str, object]] = {}


class TestAsAPersona(DiscordContract):
    more: ClassVar[dict[str, object]] = {"persona": ADA}


class TestAsAUser(DiscordContract):
    more: ClassVar[dict[str, object]] = {"impersonated": BEN}


class TestAsTheBotInAThread(TestAsTheBot):
    is_in_thread = True


class TestAsAPersonaInAThread(TestAsAPersona):
    is_in_thread = True


def test_a_turn_is_told_of_what_its_sink_gets_over(stand: Stand, channel: str) -> None:
    sink, told = DiscordSink(stand.bot), list[tuple[str, str]]()
    assert isinstance(sink, TellsTroubles)
    sink.tell_troubles(lambda what, done: told.append((what, done)))
    turn = Turn(sink=sink, target=sink.prepare(stand.request(channel, persona=ADA)))
    stand.double.break_with(FAULTS["the webhook is deleted mid-stream"])

    for number in range(4):
        turn.post(f"message {number}")

    assert [done for _, done in told] == ["went on with a new webhook"]


# ── who speaks ──────────────────────────────────────────────────────────────────────────────


def test_the_bot_answers_the_trigger_with_its_first_message_alone(
    stand: Stand, channel: str
) -> None:
    asked = stand.double.say(channel, "hello?")
    turn = Turn.begun(stand, stand.request(channel, trigger_id=asked))

    turn.post("one")
    turn.post("two")

    assert [one.reply_to for one in stand.double.visible(channel)] == [None, asked, None]


def test_an_answer_to_a_deleted_message_is_a_plain_one(stand: Stand, channel: str) -> None:
    asked = stand.double.say(channel, "hello?")
    turn = Turn.begun(stand, stand.request(channel, trigger_id=asked))
    stand.double.remove(asked)

    turn.post("one")

    assert stand.texts(channel) == ["one"]


def test_without_the_right_to_read_an_answer_is_a_plain_one(stand: Stand, channel: str) -> None:
    asked = stand.double.say(channel, "hello?")
    turn = Turn.begun(stand, stand.request(channel, trigger_id=asked))
    stand.double.revoke(channel, "READ_MESSAGE_HISTORY")

    turn.post("one")

    assert stand.texts(channel) == ["hello?", "one"]


def test_a_persona_speaks_under_its_own_name_and_picture(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    delivery = turn.post("hello")

    (message,) = stand.double.visible(channel)
    assert (message.author.name, message.author.avatar) == (ADA.name, ADA.avatar_url)
    assert delivery.webhook_id == turn.target.webhook_id == message.author.webhook_id
    assert not turn.target.webhook_is_temporary


def test_personas_share_one_webhook_of_the_channel(stand: Stand, channel: str) -> None:
    for _ in range(3):
        as_ada(stand, channel).post("hello")

    assert stand.routes().count("create_webhook") == 1


def test_a_webhook_of_an_earlier_run_is_found_again(stand: Stand, channel: str) -> None:
    made = stand.double.add_webhook(
        channel, "turnkeeper", of_application=stand.double.application_id
    )

    assert as_ada(stand, channel).target.webhook_id == made.id
    assert "create_webhook" not in stand.routes()


def test_a_webhook_that_others_made_is_left_alone(stand: Stand, channel: str) -> None:
    theirs = stand.double.add_webhook(channel, "turnkeeper")

    assert as_ada(stand, channel).target.webhook_id != theirs.id


def test_a_persona_that_may_not_have_a_webhook_speaks_as_the_bot(
    stand: Stand, channel: str
) -> None:
    stand.double.revoke(channel, "MANAGE_WEBHOOKS")

    for _ in range(3):
        as_ada(stand, channel).post("hello")

    assert {one.author for one in stand.double.visible(channel)} == {stand.double.bot}
    assert stand.routes().count("list_webhooks") == 1  # what is refused is not asked for again


def test_in_a_direct_message_the_bot_speaks_itself(stand: Stand) -> None:
    dm = stand.double.add_dm()
    delivery = as_ada(stand, dm, occasion=Occasion(is_dm=True)).post("hello")

    assert stand.double.visible(dm)[0].author == stand.double.bot
    assert delivery.url == f"https://discord.com/channels/@me/{dm}/{delivery.message_id}"


def test_a_message_is_linked_to_where_people_find_it(
    stand: Stand, channel: str, thread: str
) -> None:
    delivery = in_thread(stand, channel, thread).post("hello")

    guild = stand.double.guild_id
    assert delivery.url == f"https://discord.com/channels/{guild}/{thread}/{delivery.message_id}"
    assert (delivery.channel_id, delivery.thread_id) == (channel, thread)


def test_a_user_is_spoken_for_by_a_webhook_that_goes_with_the_turn(
    stand: Stand, channel: str
) -> None:
    turn = as_ben(stand, channel)
    turn.post("hello")
    (webhook,) = stand.double.webhooks(channel)

    turn.sink.cleanup()
    turn.sink.cleanup()

    assert turn.target.webhook_is_temporary
    assert (webhook.id, webhook.name[:3]) == (turn.target.webhook_id, "Ben")
    assert stand.double.visible(channel)[0].author.name == "Ben"
    assert stand.double.webhooks(channel) == ()
    assert stand.routes().count("delete_webhook") == 1


def test_a_webhook_that_could_not_go_with_its_turn_goes_with_the_next(
    stand: Stand, channel: str
) -> None:
    turn = as_ben(stand, channel)
    stand.double.break_with(FAULTS["the edge blocks with a page"])
    with pytest.raises(Halted):
        turn.post("hello")
    with pytest.raises(WaitTooLong):
        turn.sink.cleanup()
    stand.double.mend()
    stand.clock.advance(60)

    as_ben(stand, channel).sink.cleanup()

    assert stand.double.webhooks(channel) == ()


def test_the_bot_never_speaks_in_a_users_place(stand: Stand, channel: str) -> None:
    stand.double.revoke(channel, "MANAGE_WEBHOOKS")

    with pytest.raises(SinkError):
        as_ben(stand, channel)


def test_a_name_that_discord_forbids_is_masked(stand: Stand, channel: str) -> None:
    forbidden = replace(ADA, name="Clyde of Discord")
    Turn.begun(stand, stand.request(channel, persona=forbidden)).post("hello")

    assert stand.double.visible(channel)[0].author.name == "Cl*de of Di*cord"


def test_nobody_is_pinged(stand: Stand, channel: str) -> None:
    for turn in (as_bot(stand, channel), as_ada(stand, channel)):
        delivery = turn.post("@everyone <@100000000000000001> <@&100000000000000002>")
        turn.sink.edit(delivery, "@here <@100000000000000001>")

    assert [one.pings for one in stand.double.visible(channel)] == [NOBODY, NOBODY]


# ── webhooks that go ────────────────────────────────────────────────────────────────────────


def test_a_deleted_webhook_is_made_again_and_the_message_posted_once(
    stand: Stand, channel: str
) -> None:
    turn = as_ada(stand, channel)
    first = turn.target.webhook_id
    assert first is not None
    stand.double.delete_webhook(first)

    delivery = turn.post("hello")

    assert stand.texts(channel) == ["hello"]
    assert delivery.webhook_id == stand.double.webhooks(channel)[0].id != first
    known = stand.bot.webhooks.known(first)
    assert known is None


def test_where_no_webhook_can_be_made_again_the_bot_goes_on(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    stand.double.delete_webhook(turn.target.webhook_id or "")
    stand.double.revoke(channel, "MANAGE_WEBHOOKS")

    assert turn.post("hello").webhook_id is None
    assert stand.double.visible(channel)[0].author == stand.double.bot


def test_a_user_whose_webhook_goes_again_says_no_more(stand: Stand, channel: str) -> None:
    turn = as_ben(stand, channel)
    for webhook in stand.double.webhooks(channel):
        stand.double.delete_webhook(webhook.id)
    turn.post("one")
    for webhook in stand.double.webhooks(channel):
        stand.double.delete_webhook(webhook.id)

    with pytest.raises(DiscordError):
        turn.post("two")
    turn.sink.cleanup()

    assert (stand.texts(channel), stand.double.webhooks(channel)) == (["one"], ())


def test_a_post_that_outlives_the_turn_makes_no_webhook(stand: Stand, channel: str) -> None:
    turn = as_ben(stand, channel)
    turn.sink.cleanup()

    with pytest.raises(SinkError, match="over"):
        turn.post("late")

    assert (stand.texts(channel), stand.double.webhooks(channel)) == ([], ())


# ── posting exactly once ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("more", [{}, {"persona": ADA}, {"impersonated": BEN}])
@pytest.mark.parametrize("mishap", [LostResponse(), ServerError(takes_effect=True)])
def test_a_message_whose_answer_was_lost_is_there_once_and_known(
    stand: Stand, channel: str, more: dict[str, object], mishap: LostResponse | ServerError
) -> None:
    asked = stand.double.say(channel, "hello?")
    turn = Turn.begun(stand, stand.request(channel, trigger_id=asked, **more))
    stand.double.break_with(
        Fault(what=mishap, when=When(routes=("create_message", "execute_webhook")))
    )

    delivery = turn.post("hello")

    assert stand.texts(channel) == ["hello?", "hello"]
    assert delivery.message_id == stand.double.visible(channel)[1].id


def test_an_older_message_of_the_same_words_is_not_taken_for_a_lost_one(
    stand: Stand, channel: str
) -> None:
    as_ada(stand, channel).post("hello")
    asked = stand.double.say(channel, "hello?")
    turn = as_ada(stand, channel, trigger_id=asked)
    stand.double.break_with(
        Fault(what=LostResponse(takes_effect=False), when=When(routes=("execute_webhook",)))
    )

    with pytest.raises(SinkError):
        turn.post("hello")


def test_a_nonce_is_new_once_its_message_was_taken_back(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)
    turn.sink.take_back(turn.post("hello", nonce="n1"))

    turn.post("hello", nonce="n1")

    assert stand.texts(channel) == ["hello"]


def test_the_same_nonce_posts_the_same_message(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)

    assert turn.post("hello", nonce="n1").message_id == turn.post("hello", nonce="n1").message_id
    assert stand.texts(channel) == ["hello"]


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b", "\u2800 \ufeff\u3164", "\u00ad\u2060\ufe0f"]
)
def test_what_nobody_would_see_is_not_sent(stand: Stand, channel: str, text: str) -> None:
    turn = as_bot(stand, channel)
    delivery = turn.post("hello")

    with pytest.raises(NothingToShow):
        turn.post(text)
    with pytest.raises(NothingToShow):
        turn.sink.edit(delivery, text)

    assert stand.texts(channel) == ["hello"]


def test_a_message_is_cut_to_what_discord_takes_in_code_points(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)

    turn.post("😀" * 2000)
    delivery = turn.post("😀" * 2001)

    whole, cut = stand.texts(channel)
    assert (whole, cut) == ("😀" * 2000, "😀" * 1999 + "…")
    assert delivery.text == cut


def test_a_long_answer_keeps_to_discords_limits(channel: str) -> None:
    with standing(limits=DEFAULT) as stand:
        place = stand.double.add_channel()
        for turn in (as_bot(stand, place), as_ada(stand, place)):
            delivered = [turn.post(f"message {number}") for number in range(12)]
            for delivery in delivered:
                turn.sink.edit(delivery, "edited")
            for delivery in delivered:
                assert turn.sink.take_back(delivery)

        assert stand.texts(place) == []
        refused = [one for one in stand.double.exchanges if one.status == 429]
        assert len(refused) <= 4
        assert stand.clock.waits


# ── taking back ─────────────────────────────────────────────────────────────────────────────


def test_a_webhook_takes_back_in_a_thread_without_any_permission(
    stand: Stand, channel: str, thread: str
) -> None:
    turn = in_thread(stand, channel, thread, persona=ADA)
    delivery = turn.post("hello")
    stand.double.revoke(channel, "MANAGE_MESSAGES")

    assert turn.sink.take_back(delivery)
    assert [one.by for one in stand.double.deleted(thread)] == ["webhook"]


def test_what_a_lost_webhook_said_is_taken_back_by_the_bot(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    delivery = turn.post("hello")
    stand.double.delete_webhook(delivery.webhook_id or "")

    assert turn.sink.take_back(delivery)
    assert [one.by for one in stand.double.deleted(channel)] == ["bot"]


def test_a_user_is_unsaid_also_when_the_turn_is_over(stand: Stand, channel: str) -> None:
    turn = as_ben(stand, channel)
    delivery = turn.post("hello")
    turn.sink.cleanup()

    assert turn.sink.take_back(delivery)
    assert stand.texts(channel) == []


def test_what_discord_does_not_delete_is_said_to_stay(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    delivery = turn.post("hello")
    stand.double.delete_webhook(delivery.webhook_id or "")
    stand.double.revoke(channel, "MANAGE_MESSAGES")

    with pytest.raises(DiscordError) as caught:
        turn.sink.take_back(delivery)

    assert caught.value.code == "50013"
    assert not isinstance(caught.value, DestinationGone)
    assert stand.texts(channel) == ["hello"]


def test_what_a_moderator_deleted_is_gone_whoever_may_look(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    delivery = turn.post("hello")
    stand.double.remove(delivery.message_id)
    stand.double.revoke(channel, "MANAGE_MESSAGES")

    assert turn.sink.take_back(delivery)


def test_a_webhook_that_does_not_know_a_message_is_not_believed(
    stand: Stand, channel: str, thread: str
) -> None:
    turn = in_thread(stand, channel, thread, persona=ADA)
    delivery = turn.post("hello")
    mine = as_ada(stand, channel).post("mine")

    assert mine.webhook_id is not None
    assert turn.sink.take_back(replace(delivery, webhook_id=mine.webhook_id))
    assert stand.texts(thread) == []


def test_what_was_in_a_deleted_channel_is_gone(stand: Stand, channel: str) -> None:
    for turn in (as_bot(stand, channel), as_ada(stand, channel)):
        delivery = turn.post("hello")
        if turn.target.webhook_id is not None:
            stand.double.delete_channel(channel)
            assert turn.sink.take_back(delivery)


@pytest.mark.parametrize("more", [{}, {"persona": ADA}], ids=["bot", "persona"])
def test_an_archived_thread_is_opened_to_take_back(
    stand: Stand, channel: str, thread: str, more: dict[str, object]
) -> None:
    turn = in_thread(stand, channel, thread, **more)
    delivery = turn.post("hello")
    stand.double.archive(thread)

    assert turn.sink.take_back(delivery)
    assert stand.texts(thread) == []


def test_many_messages_go_at_once(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)
    delivered = tuple(turn.post(f"message {number}") for number in range(5))

    assert isinstance(turn.sink, TakesBackMany)
    assert turn.sink.take_back_all(delivered) == ()

    assert stand.texts(channel) == []
    assert (stand.routes().count("delete_messages"), "delete_message" in stand.routes()) == (
        1,
        False,
    )


def test_a_few_go_one_by_one(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)
    delivered = tuple(turn.post(f"message {number}") for number in range(4))

    assert turn.sink.take_back_all(delivered) == ()

    assert stand.texts(channel) == []
    assert "delete_messages" not in stand.routes()


def test_without_the_right_to_many_go_one_by_one(stand: Stand, channel: str) -> None:
    turn = as_ada(stand, channel)
    delivered = tuple(turn.post(f"message {number}") for number in range(5))
    stand.double.revoke(channel, "MANAGE_MESSAGES")

    assert turn.sink.take_back_all(delivered) == ()
    assert stand.texts(channel) == []


def test_those_that_stay_are_named_with_the_reason(stand: Stand, channel: str) -> None:
    turn = as_bot(stand, channel)
    delivered = tuple(turn.post(f"message {number}") for number in range(5))
    stand.double.break_with(FAULTS["deletes are refused"])

    stuck = turn.sink.take_back_all(delivered)

    assert [delivery for delivery, _ in stuck] == list(delivered)
    assert all("50013" in str(error) for _, error in stuck)


# ── whatever goes wrong ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("more", [{}, {"persona": ADA}, {"impersonated": BEN}])
@pytest.mark.parametrize("name", FAULTS)
def test_a_turn_knows_what_it_left_whatever_goes_wrong(
    stand: Stand, channel: str, thread: str, name: str, more: dict[str, object]
) -> None:
    asked = stand.double.say(thread, "hello?")
    turn = in_thread(stand, channel, thread, trigger_id=asked, **more)
    stand.double.break_with(FAULTS[name])

    known: dict[str, str] = {}
    for number in range(4):
        try:
            delivery = turn.post(f"message {number}")
        except SinkError:
            break
        known[delivery.message_id] = delivery.text
        if number == 2:
            try:
                turn.sink.edit(delivery, "edited")
                known[delivery.message_id] = "edited"
            except SinkError:
                pass
        if number == 0:
            try:
                assert turn.sink.take_back(delivery)
                del known[delivery.message_id]
            except SinkError:
                pass
    try:
        turn.sink.cleanup()
    except SinkError:
        assert name.startswith(("the edge", "the token is revoked"))

    there = {one.id: one.content for one in stand.double.visible(thread) if one.id != asked}
    is_gone = name == "the channel is deleted mid-stream"
    assert there == ({} if is_gone else known)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("the channel is deleted mid-stream", DestinationGone),
        ("the channel is hidden mid-stream", DestinationGone),
        ("sending is forbidden mid-stream", DestinationGone),
        ("the thread is locked mid-stream", DestinationGone),
        ("the token is revoked mid-stream", BadBotToken),
        ("the edge blocks with a page", Halted),
    ],
)
def test_what_a_post_meets_is_told_apart(
    stand: Stand, channel: str, thread: str, name: str, kind: type[SinkError]
) -> None:
    turn = in_thread(stand, channel, thread)
    stand.double.break_with(FAULTS[name])

    for number in range(2):
        if kind is not Halted:
            turn.post(f"message {number}")

    with pytest.raises(kind):
        turn.post("message")


def test_a_wait_beyond_what_a_post_may_take_is_an_error(channel: str) -> None:
    with standing(manners=Manners(shows_typing=False, post_within_s=5.0)) as stand:
        turn = as_ada(stand, stand.double.add_channel())
        stand.double.break_with(FAULTS["a post meets the hidden webhook limit"])
        with pytest.raises(WaitTooLong):
            turn.post("hello")


# ── what is said of the turn ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("more", [{}, {"persona": ADA}], ids=["bot", "persona"])
def test_an_error_is_one_card_in_the_voice_of_the_turn(
    stand: Stand, channel: str, more: dict[str, object]
) -> None:
    turn = Turn.begun(stand, stand.request(channel, **more))
    failure = a_failure(FailureKind.RATE_LIMIT)

    turn.sink.emit_stream_result(StreamResult(status=TurnStatus.ERROR, failure=failure), SPOKEN)

    (message,) = stand.double.visible(channel)
    (embed,) = message.embeds
    assert message.author.webhook_id == turn.target.webhook_id
    assert embed["title"] == SPOKEN.title
    assert embed["description"] == "The model did not answer.\n\nTry again."


def test_a_crash_and_a_refusal_are_told_too(stand: Stand, channel: str) -> None:
    sink = as_bot(stand, channel).sink

    sink.emit_error(RuntimeError("boom"), SPOKEN)
    sink.tell(Spoken(title="", text="Wait a moment."))

    crash, refusal = (one.embeds[0] for one in stand.double.visible(channel))
    assert crash["title"] == SPOKEN.title
    assert refusal["description"] == "Wait a moment."


def test_too_much_is_cut_to_what_a_card_takes(stand: Stand, channel: str) -> None:
    sink = as_bot(stand, channel).sink

    sink.tell(Spoken(title="t" * 300, text="x" * 5000, tips=("y" * 2000,)))

    (embed,) = stand.double.visible(channel)[0].embeds
    assert (len(embed["title"]), len(embed["description"])) == (256, 4096)


def test_without_words_nothing_is_said(stand: Stand, channel: str) -> None:
    sink = as_bot(stand, channel).sink

    with pytest.raises(NothingToShow):
        sink.tell(Spoken(title=" ", text="\u200b"))

    assert stand.texts(channel) == []


NOTICE = FallbackNotice(
    slot=Slot(number=2, is_lead=False),
    model="beta",
    route=Route.SERVER,
    failures=(
        AttemptFailure(
            attempt_no=0,
            label="primary",
            model="alpha",
            failure=a_failure(FailureKind.OVERLOADED),
        ),
    ),
    offers_opt_out=False,
)
SAID = Spoken(title="Fallback used", text="beta answered\n1. alpha was overloaded")


@pytest.mark.parametrize("more", [{}, {"persona": ADA}], ids=["bot", "persona"])
def test_a_notice_is_one_button_whose_details_are_kept(
    stand: Stand, channel: str, thread: str, more: dict[str, object]
) -> None:
    turn = in_thread(stand, channel, thread, user_id="ann", **more)

    turn.sink.notice(NOTICE, SAID)

    (message,) = stand.double.visible(thread)
    (row,) = message.components
    (button,) = row["components"]
    assert (message.content, message.embeds) == ("", ())
    assert (button["custom_id"], button["label"]) == (DETAILS_BUTTON, "Fallback used")
    assert message.author.webhook_id == turn.target.webhook_id
    kept = stand.bot.notices.find(message.id)
    assert kept == NoticeDetails.of(NOTICE, title=SAID.title, text=SAID.text)
    notices = stand.bot.notices
    assert isinstance(notices, MemoryNotices)
    assert notices.count_of("ann") == 1


class _AwayNotices(MemoryNotices):
    def save(self, *args: object, **more: object) -> None:
        raise StoreUnavailable("the store is away")


def test_a_notice_whose_details_cannot_be_kept_is_taken_back(stand: Stand, channel: str) -> None:
    bot: Bot = replace(stand.bot, notices=_AwayNotices(stand.clock))
    sink = DiscordSink(bot)
    sink.prepare(stand.request(channel))

    with pytest.raises(StoreError):
        sink.notice(NOTICE, SAID)

    assert stand.double.visible(channel) == ()


# ── growing, typing, ending ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("interval_s", [0.0, 0.99, float("nan"), -1.0])
def test_messages_do_not_grow_faster_than_discord_takes_edits(interval_s: float) -> None:
    with pytest.raises(ValueError, match="edit_interval_s"):
        Manners(edit_interval_s=interval_s)


def test_messages_grow_where_the_manners_say_so(channel: str) -> None:
    with standing(manners=Manners(edit_interval_s=1.5, shows_typing=False)) as stand:
        turn = as_bot(stand, stand.double.add_channel())
        assert turn.target.edit_interval_s == 1.5


def test_typing_is_shown_and_shown_again_after_a_while() -> None:
    with standing(manners=Manners()) as stand:
        place = stand.double.add_channel()
        turn = as_bot(stand, place)
        _await_typing(stand, place, 1)
        turn.post("one")
        stand.clock.advance(9)
        turn.post("two")
        _await_typing(stand, place, 2)
        turn.sink.finalize(TurnResult(status=TurnStatus.COMPLETED))
        stand.clock.advance(9)
        turn.post("three")
        turn.sink.cleanup()

        assert stand.double.typed(place) == 2


def _await_typing(stand: Stand, place: str, times: int) -> None:
    for _ in range(10_000):
        if stand.double.typed(place) >= times:
            return
        threading.Event().wait(0.001)
    raise AssertionError("nobody saw it typing")


def test_a_channel_where_typing_fails_is_answered_all_the_same() -> None:
    with standing(manners=Manners()) as stand:
        place = stand.double.add_channel()
        stand.double.break_with(
            Fault(what=ServerError(), when=When(routes=("type_in_channel",), times=None))
        )
        as_bot(stand, place).post("hello")

        assert stand.texts(place) == ["hello"]


def test_a_sink_that_was_not_prepared_says_so(stand: Stand) -> None:
    sink = DiscordSink(stand.bot)
    delivery = Delivery(message_id="1", channel_id="2", text="", origin=Origin.STREAM)

    with pytest.raises(SinkError, match="prepare"):
        sink.take_back(delivery)
    sink.cleanup()


def test_an_edit_of_what_a_forgotten_webhook_posted_is_refused(stand: Stand, channel: str) -> None:
    turn = as_ben(stand, channel)
    delivery = turn.post("hello")
    turn.sink.cleanup()

    with pytest.raises(SinkError, match="token nobody knows"):
        turn.sink.edit(delivery, "bye")
