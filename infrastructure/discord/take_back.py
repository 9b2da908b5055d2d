"""Deletes what was posted, by whichever way is open."""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum

from turnkeeper.application.ports.channel_reader import Place
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.sink import Stuck
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.errors import SinkError
from turnkeeper.domain.outcome import Delivery
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.codes import (
    ALREADY_GONE,
    ARCHIVED,
    CHANNEL_GONE,
    WEBHOOK_GONE,
)
from turnkeeper.infrastructure.discord.errors import DiscordError
from turnkeeper.infrastructure.discord.place import id_of, place_of
from turnkeeper.infrastructure.discord.snowflake import is_snowflake, made_at
from turnkeeper.infrastructure.discord.webhooks import Webhooks

FEWEST_AT_ONCE = 5
"""Fewer go one by one without a wait, and need no right to the others' messages."""
MOST_AT_ONCE = 100
_SAFE_AGE = calls.BULK_AGE - timedelta(hours=1)


class _Fate(Enum):
    GONE = "gone"
    PERHAPS = "perhaps"
    THERE = "there"


class TakeBack:
    """Deletes messages in any channel. Safe to use from several threads."""

    def __init__(self, client: DiscordClient, webhooks: Webhooks, *, clock: Clock) -> None:
        self._client = client
        self._webhooks = webhooks
        self._clock = clock

    def __call__(self, delivery: Delivery, *, deadline: Deadline = NEVER) -> bool:
        """Delete a message: by its webhook, which needs no permission, then as the bot.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        place = place_of(delivery)
        fate = self._by_webhook(delivery, place, deadline)
        if fate is _Fate.GONE:
            return True
        call = calls.delete_message(id_of(place), delivery.message_id, now=self._clock.now())
        try:
            self._delete(call, place, deadline)
        except DiscordError as error:
            if error.code == ALREADY_GONE or error.code in CHANNEL_GONE:
                return True
            if fate is _Fate.PERHAPS and self._is_gone(delivery, place, deadline):
                return True
            raise
        return True

    def all(
        self, deliveries: Sequence[Delivery], *, deadline: Deadline = NEVER
    ) -> tuple[Stuck, ...]:
        """Delete messages, many at once where Discord allows it; returns those that are there."""
        left: list[Stuck] = []
        for place in dict.fromkeys(place_of(delivery) for delivery in deliveries):
            there = [delivery for delivery in deliveries if place_of(delivery) == place]
            there = self._without_fresh(there, place, deadline)
            left += self._each(there, deadline)
        return tuple(left)

    def _by_webhook(self, delivery: Delivery, place: Place, deadline: Deadline) -> _Fate:
        """Its word that a message is not there may only mean that the message is not its own."""
        if delivery.webhook_id is None:
            return _Fate.THERE
        webhook = self._webhooks.known(delivery.webhook_id)
        if webhook is None:
            return _Fate.THERE
        call = calls.delete_webhook_message(webhook, delivery.message_id, thread_id=place.thread_id)
        try:
            self._delete(call, place, deadline)
        except DiscordError as error:
            if error.code in WEBHOOK_GONE:
                self._webhooks.drop(webhook)
            return _Fate.PERHAPS if error.code == ALREADY_GONE else _Fate.THERE
        except SinkError:
            return _Fate.THERE
        return _Fate.GONE

    def _delete(self, call: Call, place: Place, deadline: Deadline) -> None:
        """Delete, also in a thread that was archived meanwhile."""
        try:
            self._client.make(call, deadline=deadline)
        except DiscordError as error:
            if error.code != ARCHIVED or place.thread_id is None:
                raise
            self._client.make(calls.unarchive(place.thread_id), deadline=deadline)
            self._client.tell(str(error), "opened the thread again")
            self._client.make(call, deadline=deadline)

    def _is_gone(self, delivery: Delivery, place: Place, deadline: Deadline) -> bool:
        call = calls.read_message(id_of(place), delivery.message_id)
        try:
            self._client.make(call, deadline=deadline)
        except DiscordError as error:
            return error.code == ALREADY_GONE or error.code in CHANNEL_GONE
        except SinkError:
            return False
        return False

    def _without_fresh(
        self, deliveries: list[Delivery], place: Place, deadline: Deadline
    ) -> list[Delivery]:
        """Delete at once what can be; returns the others, or all where that is not allowed."""
        fresh = list(dict.fromkeys(d.message_id for d in deliveries if self._is_fresh(d)))
        gone: set[str] = set()
        for start in range(0, len(fresh), MOST_AT_ONCE):
            ids = fresh[start : start + MOST_AT_ONCE]
            if len(ids) < FEWEST_AT_ONCE:
                break
            try:
                self._client.make(calls.delete_messages(id_of(place), ids), deadline=deadline)
            except SinkError as error:
                self._client.tell(str(error), "deletes them one by one")
                break
            gone.update(ids)
        return [delivery for delivery in deliveries if delivery.message_id not in gone]

    def _is_fresh(self, delivery: Delivery) -> bool:
        message_id = delivery.message_id
        return is_snowflake(message_id) and self._clock.now() - made_at(message_id) < _SAFE_AGE

    def _each(self, deliveries: list[Delivery], deadline: Deadline) -> list[Stuck]:
        left: list[Stuck] = []
        for delivery in deliveries:
            try:
                self(delivery, deadline=deadline)
            except SinkError as error:
                left.append((delivery, error))
        return left
