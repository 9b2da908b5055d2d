"""Posts the messages of one turn: as a webhook while that goes, else as the bot."""

from typing import Any

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.discord import calls, payloads
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.codes import BAD_FORM, NO_HISTORY, WEBHOOK_GONE
from turnkeeper.infrastructure.discord.errors import DiscordError, Unclear
from turnkeeper.infrastructure.discord.payloads import Payload
from turnkeeper.infrastructure.discord.place import id_of
from turnkeeper.infrastructure.discord.searcher import Searcher
from turnkeeper.infrastructure.discord.voice import Voice
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhooks import Webhooks


@frozen
class Posted:
    """A message that is there.

    Attributes:
        message_id: Its id.
        webhook_id: The webhook that posted it, or None for the bot.
    """

    message_id: str
    webhook_id: str | None = None


class Speech:
    """Speaks for one turn; used by one thread at a time.

    Args:
        reply_to: The message that the bot's first one replies to, or None.
    """

    def __init__(
        self,
        client: DiscordClient,
        webhooks: Webhooks,
        searcher: Searcher,
        *,
        owner: Owner,
        place: Place,
        reply_to: str | None,
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._searcher = searcher
        self._owner = owner
        self._place = place
        self._reply_to = reply_to
        self._renewals = 0
        self._is_over = False
        self.voice: Voice | None = None

    def post(self, payload: Payload, *, nonce: str, deadline: Deadline) -> Posted:
        """Post it, once.

        Raises:
            SinkError: It is not there, as far as anybody can tell.
            DestinationGone: Nobody can be reached there.
        """
        if self._is_over:
            raise SinkError("the turn is over; nothing more is posted")
        while (voice := self.voice) is not None:
            try:
                return self._as_webhook(voice, payload, deadline)
            except DiscordError as error:
                if error.code not in WEBHOOK_GONE:
                    raise
                self._renew(voice, error, deadline)
        return self._as_bot(payload, nonce, deadline)

    def end(self, *, deadline: Deadline) -> None:
        """Post no more, and delete the webhook that was made for the turn.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        self._is_over = True
        if self.voice is not None and self.voice.is_temporary:
            self._webhooks.release(self.voice.webhook, deadline=deadline)

    def _as_webhook(self, voice: Voice, payload: Payload, deadline: Deadline) -> Posted:
        voiced = payloads.speaking_as(payload, voice.name, voice.avatar_url)
        call = calls.execute_webhook(voice.webhook, voiced, thread_id=self._place.thread_id)
        try:
            message_id = _message_id(self._client.make(call, deadline=deadline))
        except Unclear as error:
            found = self._searcher.find(payload, webhook_id=voice.webhook.id, deadline=deadline)
            if found is None:
                raise
            self._client.tell(str(error), "looked, and found it in the channel")
            message_id = found
        self._searcher.saw(message_id)
        return Posted(message_id=message_id, webhook_id=voice.webhook.id)

    def _renew(self, voice: Voice, error: DiscordError, deadline: Deadline) -> None:
        """Go on with a new webhook, once; then as the bot, unless somebody else is to speak."""
        self._webhooks.drop(voice.webhook)
        self._renewals += 1
        webhook = None
        if self._renewals == 1 and not self._is_over:
            try:
                webhook = self._another(voice, deadline)
            except DestinationGone:
                raise
            except SinkError:
                webhook = None
        if webhook is None and voice.is_temporary:
            raise error
        self.voice = None if webhook is None else replace(voice, webhook=webhook)
        as_whom = "as the bot" if webhook is None else "with a new webhook"
        self._client.tell(str(error), f"went on {as_whom}")
        if self._is_over:  # it ended meanwhile, and did not know of the new webhook
            self.end(deadline=deadline)
            raise error

    def _another(self, voice: Voice, deadline: Deadline) -> Webhook:
        channel_id = self._place.channel_id
        if voice.is_temporary:
            return self._webhooks.make_temporary(channel_id, voice.name, deadline=deadline)
        return self._webhooks.of(self._owner, channel_id, deadline=deadline)

    def _as_bot(self, payload: Payload, nonce: str, deadline: Deadline) -> Posted:
        plain = payloads.once(payload, nonce)
        reply_to = self._reply_to
        if reply_to is None:
            return self._create(plain, deadline)
        try:
            posted = self._create(payloads.replying(plain, id_of(self._place), reply_to), deadline)
        except DiscordError as error:
            if not _is_about_the_reply(error):
                raise
            posted = self._create(plain, deadline)
        self._reply_to = None
        return posted

    def _create(self, payload: Payload, deadline: Deadline) -> Posted:
        call = calls.create_message(id_of(self._place), payload)
        message_id = _message_id(self._client.make(call, deadline=deadline))
        self._searcher.saw(message_id)
        return Posted(message_id=message_id)


def _message_id(message: Any) -> str:
    message_id = message.get("id") if isinstance(message, dict) else None
    if not isinstance(message_id, str) or not message_id:
        raise Unclear("Discord took a message and told no id of it")
    return message_id


def _is_about_the_reply(error: DiscordError) -> bool:
    names = (name for name, _ in error.fields)
    is_bad_reference = any(name.startswith("message_reference") for name in names)
    return error.code == NO_HISTORY or (error.code == BAD_FORM and is_bad_reference)
