"""A sink that speaks in a Discord channel."""

import secrets

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.application.ports.sink import Sink, Spoken, Stuck, Target, Tell
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import SinkError, StoreError
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.notice import NoticeDetails, NoticePlace
from turnkeeper.domain.outcome import Delivery, Origin, StreamResult
from turnkeeper.domain.press import DETAILS_BUTTON
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.discord import payloads
from turnkeeper.infrastructure.discord.bot import Bot
from turnkeeper.infrastructure.discord.client import nobody
from turnkeeper.infrastructure.discord.content import is_visible
from turnkeeper.infrastructure.discord.edits import edit
from turnkeeper.infrastructure.discord.errors import NothingToShow
from turnkeeper.infrastructure.discord.nonces import Nonces
from turnkeeper.infrastructure.discord.payloads import Payload
from turnkeeper.infrastructure.discord.place import (
    id_of,
    link_to,
    place_asked_for,
    place_of,
)
from turnkeeper.infrastructure.discord.searcher import Searcher
from turnkeeper.infrastructure.discord.snowflake import is_snowflake
from turnkeeper.infrastructure.discord.speech import Posted, Speech
from turnkeeper.infrastructure.discord.take_back import TakeBack
from turnkeeper.infrastructure.discord.typing_indicator import TypingIndicator
from turnkeeper.infrastructure.discord.voices import voice_of

_PASSES = frozenset({FailureKind.RATE_LIMIT, FailureKind.TIMEOUT, FailureKind.OVERLOADED})


@frozen
class _Stage:
    """What `prepare` made for the turn."""

    request: TurnRequest
    place: Place
    speech: Speech
    take_back: TakeBack
    typing: TypingIndicator


class DiscordSink(Sink):
    """Speaks for one turn: as the bot, as a persona or, for one turn, as a user."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._nonces = Nonces()
        self._stage: _Stage | None = None
        self._is_clean = False
        self._tell: Tell = nobody

    def tell_troubles(self, tell: Tell) -> None:
        self._tell = tell

    @property
    def can_take_back(self) -> bool:
        return True

    def prepare(self, request: TurnRequest) -> Target:
        stage = self._made(request)
        stage.speech.voice = voice = voice_of(
            request, stage.place, self._bot.webhooks, deadline=self._post_deadline()
        )
        stage.typing.show()
        return Target(
            channel_id=stage.place.channel_id,
            thread_id=stage.place.thread_id,
            webhook_id=voice.webhook.id if voice else None,
            username=voice.name if voice else None,
            avatar_url=voice.avatar_url if voice else None,
            max_chars=self._bot.manners.max_chars,
            edit_interval_s=self._bot.manners.edit_interval_s,
            webhook_is_temporary=voice is not None and voice.is_temporary,
        )

    def finalize(self, result: TurnResult) -> None:
        self._prepared.typing.end()

    def cleanup(self) -> None:
        if self._stage is None or self._is_clean:
            return
        self._is_clean = True
        self._stage.typing.end()
        self._stage.speech.end(deadline=self._take_back_deadline())

    # ── the answer ──────────────────────────────────────────────────────────────────────────

    def post(self, text: str, *, target: Target, origin: Origin, nonce: str) -> Delivery:
        stage, payload = self._prepared, _visible(text)
        posted = stage.speech.post(
            payload, nonce=self._nonces.fresh(nonce), deadline=self._post_deadline()
        )
        self._nonces.used(nonce, posted.message_id)
        stage.typing.show()
        return _delivery(posted, stage, text=str(payload["content"]), origin=origin)

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        payload = _visible(text)
        place, webhook_id = place_of(delivery), delivery.webhook_id
        edit(self._bot, delivery.message_id, place, payload, webhook_id=webhook_id)
        self._prepared.typing.show()
        return replace(delivery, text=str(payload["content"]))

    def take_back(self, delivery: Delivery) -> bool:
        self._nonces.spend(delivery.message_id)
        return self._prepared.take_back(delivery, deadline=self._take_back_deadline())

    def take_back_all(self, deliveries: tuple[Delivery, ...]) -> tuple[Stuck, ...]:
        """Delete messages, many at once where Discord allows it.

        Returns:
            Those that are still there, or of which nobody can tell, each with the reason.
        """
        for delivery in deliveries:
            self._nonces.spend(delivery.message_id)
        return self._prepared.take_back.all(deliveries, deadline=self._take_back_deadline())

    # ── the turn itself ─────────────────────────────────────────────────────────────────────

    def emit_stream_result(self, result: StreamResult, spoken: Spoken) -> None:
        passes = result.failure is not None and result.failure.kind in _PASSES
        self._say(spoken, payloads.AMBER if passes else payloads.RED)

    def emit_error(self, error: Exception, spoken: Spoken) -> None:
        self._say(spoken, payloads.RED)

    def tell(self, spoken: Spoken) -> None:
        self._say(spoken, payloads.GREY)

    def notice(self, notice: FallbackNotice, spoken: Spoken) -> None:
        label = spoken.title if is_visible(spoken.title) else notice.model
        details = NoticeDetails.of(notice, title=label, text=spoken.text, tips=spoken.tips)
        posted, stage = self._announce(payloads.button(label, DETAILS_BUTTON)), self._prepared
        place = NoticePlace(
            server_id=stage.request.server_id,
            channel_id=stage.place.channel_id,
            message_id=posted.message_id,
            thread_id=stage.place.thread_id,
            webhook_id=posted.webhook_id,
        )
        try:
            self._bot.notices.save(place, details, user_id=stage.request.user_id)
        except StoreError:
            # A button that shows nothing is worse than none.
            self.take_back(_delivery(posted, stage, text="", origin=Origin.PROGRESS))
            raise

    def _say(self, spoken: Spoken, colour: int) -> None:
        if not any(is_visible(line) for line in (spoken.title, spoken.text, *spoken.tips)):
            raise NothingToShow("there are no words to say it with")
        self._announce(payloads.card(spoken, colour=colour))

    def _announce(self, payload: Payload) -> Posted:
        nonce = secrets.token_hex(12)
        return self._prepared.speech.post(payload, nonce=nonce, deadline=self._post_deadline())

    # ── parts ───────────────────────────────────────────────────────────────────────────────

    @property
    def _prepared(self) -> _Stage:
        if self._stage is None:
            raise SinkError("the sink was not prepared: call prepare first")
        return self._stage

    def _made(self, request: TurnRequest) -> _Stage:
        bot, place = self._bot, place_asked_for(request)
        trigger = request.trigger_id if is_snowflake(request.trigger_id) else None
        client = bot.client.telling(self._tell)
        searcher = Searcher(client, clock=bot.clock, place=place, since=trigger)
        self._stage = _Stage(
            request=request,
            place=place,
            speech=Speech(
                client,
                bot.webhooks,
                searcher,
                owner=request.server,
                place=place,
                reply_to=trigger,
            ),
            take_back=TakeBack(client, bot.webhooks, clock=bot.clock),
            typing=TypingIndicator(
                bot.client,
                bot.runner,
                clock=bot.clock,
                channel_id=id_of(place),
                is_wanted=bot.manners.shows_typing,
            ),
        )
        return self._stage

    def _post_deadline(self) -> Deadline:
        return self._bot.client.within(self._bot.manners.post_within_s)

    def _take_back_deadline(self) -> Deadline:
        return self._bot.client.within(self._bot.manners.take_back_within_s)


def _visible(text: str) -> Payload:
    if not is_visible(text):
        raise NothingToShow("the message has no visible character, and Discord takes no such one")
    return payloads.text(text)


def _delivery(posted: Posted, stage: _Stage, *, text: str, origin: Origin) -> Delivery:
    request, place = stage.request, stage.place
    server_id = None if request.occasion.is_dm else request.server_id
    return Delivery(
        message_id=posted.message_id,
        channel_id=place.channel_id,
        text=text,
        origin=origin,
        thread_id=place.thread_id,
        webhook_id=posted.webhook_id,
        url=link_to(posted.message_id, place, server_id=server_id),
    )
