"""Posts and takes back the messages of one turn, and writes down what it is about to do."""

from hashlib import sha256
from os import urandom
from threading import Lock

from turnkeeper.application.ports.ledger import NO_FATES, Fates, Intent, Ledger
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.ports.sink import TakesBackMany
from turnkeeper.application.ports.spool import NoSpool, Spool
from turnkeeper.application.stage import Stage
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import SinkError, StoreError
from turnkeeper.domain.events import EffectFailed, MessagePosted, MessageStuck, MessageTakenBack
from turnkeeper.domain.frozen import maker
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.redact import redact

_new_fates, _new_intent, _new_message_posted = maker(Fates), maker(Intent), maker(MessagePosted)


def content_hash(text: str) -> str:
    """By which a message is known again."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _SinkErrors:
    """A sink's own bug counts as its refusal: another model could not do better."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if error is None or isinstance(error, SinkError) or not isinstance(error, Exception):
            return
        name = type(error).__name__
        raise SinkError(f"the sink failed to {self._doing}: {name}: {error}") from error


_POSTING, _EDITING, _TAKING_BACK = map(_SinkErrors, ("post", "edit", "take back"))


class Poster:
    """The one door to the channel for a turn's answer. Safe from several threads."""

    _fates = NO_FATES
    _has_posted = False

    def __init__(
        self, *, stage: Stage, ledger: Ledger, epoch: int, spool: Spool = NoSpool()
    ) -> None:
        self._stage = stage
        self._ledger = ledger
        self._spool = spool
        self._epoch = epoch
        self._lock = Lock()  # guards the fates

    def post(self, text: str, *, origin: Origin, invocation_no: int) -> Delivery:
        """Write the intent, then post.

        Raises:
            SinkError: The message is not there.
            StoreError: Its intent could not be written and nothing is in the channel yet; it
                was not posted.
            Cancelled: The turn was given up by its owner; it was not posted.
        """
        stage = self._stage
        intent = self._intent(text, origin, invocation_no)
        self._intend(intent)
        nonce = intent.intent_id
        with _POSTING:
            delivery = stage.sink.post(text, target=stage.target, origin=origin, nonce=nonce)
        self._keep(_new_fates(posted=((nonce, delivery),)))
        self._has_posted = True
        stage.recorder.note(
            _new_message_posted(
                invocation_no=invocation_no,
                message_id=delivery.message_id,
                origin=origin._value_,  # `value` is slow
                chars=len(text),
            )
        )
        return delivery

    def edit(self, delivery: Delivery, text: str) -> Delivery:
        """Replace a message's text.

        Raises:
            SinkError: It still says what it said.
        """
        with _EDITING:
            return self._stage.sink.edit(delivery, text)

    def take_back(self, deliveries: tuple[Delivery, ...], *, late: bool = False) -> None:
        """Delete messages: one that stays does not keep the others."""
        sink = self._stage.sink
        if len(deliveries) > 1 and isinstance(sink, TakesBackMany):
            self._take_back_many(sink, deliveries, late=late)
            return
        for delivery in deliveries:
            try:
                with _TAKING_BACK:
                    is_gone = sink.take_back(delivery)
                cause = "" if is_gone else "the destination does not delete it"
            except SinkError as error:
                is_gone, cause = False, redact(str(error))
            self._note_gone(delivery.message_id, is_gone=is_gone, cause=cause, late=late)

    def _take_back_many(
        self, sink: TakesBackMany, deliveries: tuple[Delivery, ...], *, late: bool
    ) -> None:
        try:
            with _TAKING_BACK:
                stuck = {left.message_id: str(why) for left, why in sink.take_back_all(deliveries)}
        except SinkError as error:
            stuck = {delivery.message_id: str(error) for delivery in deliveries}
        for delivery in deliveries:
            cause = stuck.get(delivery.message_id)
            gone = cause is None
            self._note_gone(delivery.message_id, is_gone=gone, cause=redact(cause or ""), late=late)

    def write_late(self) -> None:
        """Write down what came after its invocation, or even its turn, had ended."""
        fates, entries = self.fates(), self._stage.recorder.take()
        try:
            self._ledger.settle(self._stage.turn_id, fates, entries=entries)
        except StoreError:  # it goes with the turn's end, if that is still to come
            self._keep_first(fates)
            self._stage.recorder.give_back(entries)

    def fates(self) -> Fates:
        """What is to go with the next write; it is not handed out twice."""
        if self._fates is NO_FATES:
            return NO_FATES
        with self._lock:
            fates, self._fates = self._fates, NO_FATES
        return fates

    def _intent(self, text: str, origin: Origin, invocation_no: int) -> Intent:
        stage, target = self._stage, self._stage.target
        stripped = text.strip()  # as destinations show it
        return _new_intent(
            intent_id=urandom(13).hex()[:25],  # as long as Discord takes a nonce
            turn_id=stage.recorder.turn_id,
            epoch=self._epoch,
            server_id=stage.request.server_id,
            channel_id=target.channel_id,
            origin=origin,
            content_hash=content_hash(stripped),
            invocation_no=invocation_no,
            thread_id=target.thread_id,
            webhook_id=target.webhook_id,
            webhook_is_temporary=target.webhook_is_temporary,
            chars=len(stripped),
        )

    def _intend(self, intent: Intent) -> None:
        fates, entries = self.fates(), self._stage.recorder.take()
        try:
            goes_on = self._ledger.intend(intent, fates=fates, entries=entries)
        except StoreError as error:
            self._keep_first(fates)
            self._stage.recorder.give_back(entries)
            if not self._has_posted:
                raise
            self._stage.recorder.note(EffectFailed(effect="ledger", cause=redact(str(error))))
            self._keep_on_this_machine(intent, fates)
            return
        if not goes_on:
            self._stage.mailbox.put(Signal.SUPERSEDED)
            raise Cancelled("the turn was given up by its owner")

    def _keep_on_this_machine(self, intent: Intent, fates: Fates) -> None:
        try:
            self._spool.keep_intent(intent, fates)
        except StoreError as error:  # the answer goes on all the same
            self._stage.recorder.note(EffectFailed(effect="spool", cause=redact(str(error))))

    def _keep(self, fates: Fates) -> None:
        with self._lock:
            self._fates = self._fates.plus(fates)

    def _keep_first(self, fates: Fates) -> None:
        with self._lock:
            self._fates = fates.plus(self._fates)

    def _note_gone(self, message_id: str, *, is_gone: bool, cause: str, late: bool) -> None:
        if is_gone:
            self._keep(Fates(taken_back=(message_id,)))
            self._stage.recorder.note(MessageTakenBack(message_id=message_id, late=late))
        else:
            self._keep(Fates(stuck=(message_id,)))
            self._stage.recorder.note(MessageStuck(message_id=message_id, cause=cause))
