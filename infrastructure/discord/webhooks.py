"""The webhooks that a bot speaks through: found, made, remembered, dropped."""

import logging
import re
import secrets
from contextlib import suppress
from threading import Lock
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.errors import StoreError, VaultError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.discord import calls
from turnkeeper.infrastructure.discord.client import DiscordClient
from turnkeeper.infrastructure.discord.content import MAX_NAME_CHARS, speaker_name
from turnkeeper.infrastructure.discord.errors import DiscordError, Unclear, Unreachable
from turnkeeper.infrastructure.discord.webhook import Webhook
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore

NAME = "turnkeeper"
REFUSED_S = 900.0
TEMPORARY = re.compile(r" · turnkeeper [0-9a-f]{8}\Z")
"""How the name of a webhook ends that was made for one turn; one that is left over can go."""
_INCOMING = 1

_log = logging.getLogger(__name__)


class Webhooks:
    """One webhook a channel that personas share, and others for a turn each. Safe from threads.

    Args:
        name: What the shared ones are called; none that people made has the same name.
        application_id: Whose webhooks are used; None for all whose token Discord tells.
        refused_s: How long a channel that takes no webhook is not asked again.
    """

    def __init__(
        self,
        client: DiscordClient,
        store: WebhookStore,
        *,
        clock: Clock,
        name: str = NAME,
        application_id: str | None = None,
        refused_s: float = REFUSED_S,
    ) -> None:
        self._client = client
        self._store = store
        self._clock = clock
        self._name = name
        self._application_id = application_id
        self._refused_s = refused_s
        self._lock = Lock()  # guards all below
        self._making: dict[str, Lock] = {}  # one a channel, so that not two are made
        self._shared: dict[str, Webhook] = {}
        self._temporary: dict[str, Webhook] = {}
        self._dead: set[str] = set()
        self._to_delete: list[str] = []
        self._refused: dict[str, tuple[float, DiscordError]] = {}

    def of(self, owner: Owner, channel_id: str, *, deadline: Deadline = NEVER) -> Webhook:
        """The channel's shared webhook.

        Raises:
            DiscordError: It has none and takes none: no permission, or too many.
            SinkError: Nobody can tell just now.
        """
        with self._making_of(channel_id):
            known = self._remembered(owner, channel_id)
            if known is not None:
                return known
            self._check_refused(channel_id)
            try:
                webhook = self._listed(channel_id, self._name, deadline)
                webhook = webhook or self._made(channel_id, self._name, deadline)
            except DiscordError as error:
                self._note_refused(channel_id, error)
                raise
            self._keep(owner, webhook)
            return webhook

    def known(self, webhook_id: str) -> Webhook | None:
        """The webhook with this id, if its token is known."""
        with self._lock:
            if webhook_id in self._dead:
                return None
            remembered = (*self._temporary.values(), *self._shared.values())
        found = next((one for one in remembered if one.id == webhook_id), None)
        if found is None:
            with suppress(StoreError, VaultError):  # the bot may manage without
                found = self._store.find(webhook_id)
        return found

    def drop(self, webhook: Webhook) -> None:
        """Never use it again: Discord says that it is gone, and minds being asked twice."""
        with self._lock:
            self._dead.add(webhook.id)
            self._temporary.pop(webhook.id, None)
            if self._shared.get(webhook.channel_id) == webhook:
                del self._shared[webhook.channel_id]
        with suppress(StoreError):  # whoever loads it finds out the same
            self._store.drop(webhook.id)

    def make_temporary(self, channel_id: str, name: str, *, deadline: Deadline = NEVER) -> Webhook:
        """Make one for a turn; give it to `release` afterwards.

        Raises:
            DiscordError: The channel takes none.
            SinkError: Nobody can tell just now.
        """
        mark = f" · turnkeeper {secrets.token_hex(4)}"
        named = speaker_name(name)[: MAX_NAME_CHARS - len(mark)] + mark
        self._check_refused(channel_id)
        try:
            webhook = self._made(channel_id, named, deadline)
        except DiscordError as error:
            self._note_refused(channel_id, error)
            raise
        with self._lock:
            self._temporary[webhook.id] = webhook
        return webhook

    def release(self, webhook: Webhook, *, deadline: Deadline = NEVER) -> None:
        """Delete one that was made for a turn, and those that earlier turns could not delete.

        Raises:
            SinkError: It is still there, or nobody can tell.
        """
        with self._lock:
            self._temporary.pop(webhook.id, None)
            if webhook.id in self._dead:
                return
            self._dead.add(webhook.id)
            self._to_delete.append(webhook.id)
        while self._to_delete:
            self._delete(self._to_delete[-1], deadline)

    def _delete(self, webhook_id: str, deadline: Deadline) -> None:
        """What cannot be deleted just now goes when the next turn ends."""
        try:
            self._client.make(calls.delete_webhook(webhook_id), deadline=deadline)
        except DiscordError as error:
            if error.status != 404:
                raise
        with self._lock, suppress(ValueError):  # another turn was faster
            self._to_delete.remove(webhook_id)

    # ── finding and making ──────────────────────────────────────────────────────────────────

    def _listed(self, channel_id: str, name: str, deadline: Deadline) -> Webhook | None:
        listed = self._client.make(calls.list_webhooks(channel_id), deadline=deadline)
        for one in listed if isinstance(listed, list) else ():
            if self._is_ours(one, name):
                return _webhook(one, channel_id)
        return None

    def _is_ours(self, one: Any, name: str) -> bool:
        """Only what this application made has a token, and sends the presses of its buttons."""
        is_usable = (
            isinstance(one, dict)
            and one.get("type") == _INCOMING
            and one.get("name") == name
            and bool(one.get("token"))
            and one.get("id") not in self._dead
        )
        return is_usable and self._application_id in (None, one.get("application_id"))

    def _made(self, channel_id: str, name: str, deadline: Deadline) -> Webhook:
        call = calls.create_webhook(channel_id, {"name": name})
        try:
            return _webhook(self._client.make(call, deadline=deadline), channel_id)
        except Unclear:
            made = self._listed(channel_id, name, deadline)
            if made is None:
                raise
            return made

    # ── what is remembered ──────────────────────────────────────────────────────────────────

    def _making_of(self, channel_id: str) -> Lock:
        with self._lock:
            return self._making.setdefault(channel_id, Lock())

    def _remembered(self, owner: Owner, channel_id: str) -> Webhook | None:
        known = self._shared.get(channel_id)
        if known is not None:
            return known
        with suppress(StoreError, VaultError):  # Discord tells the token again
            known = self._store.load(owner, channel_id)
        if known is None or known.id in self._dead:
            return None
        with self._lock:
            self._shared[channel_id] = known
        return known

    def _keep(self, owner: Owner, webhook: Webhook) -> None:
        with self._lock:
            self._shared[webhook.channel_id] = webhook
        with suppress(StoreError):  # it is found by its name the next time
            self._store.save(owner, webhook)

    def _check_refused(self, channel_id: str) -> None:
        until_s, error = self._refused.get(channel_id, (0.0, None))
        if error is not None and self._clock.monotonic() < until_s:
            raise error.with_traceback(None)

    def _note_refused(self, channel_id: str, error: DiscordError) -> None:
        if isinstance(error, Unreachable):
            return
        _log.warning("channel %s takes no webhook: %s", channel_id, error)
        with self._lock:
            self._refused[channel_id] = (self._clock.monotonic() + self._refused_s, error)


def _webhook(said: Any, channel_id: str) -> Webhook:
    try:
        return Webhook(id=str(said["id"]), channel_id=channel_id, token=Secret(said["token"]))
    except (TypeError, KeyError, ValueError):
        raise Unclear("Discord made a webhook and told no token of it") from None
