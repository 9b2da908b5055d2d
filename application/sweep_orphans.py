"""Sweeps up after dead turns: takes their messages back, and lets go what they held."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from turnkeeper.application.find_posted import Found, find_posted, span
from turnkeeper.application.idle_keys import idle_keys
from turnkeeper.application.ports.channel_reader import ChannelReader, Place
from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.ledger import Fates, IntentState
from turnkeeper.application.ports.orphans import Left, Orphan, Orphans, Swept
from turnkeeper.application.sweep_report import LostTurn, OnLostTurn, SweepReport, nobody
from turnkeeper.domain.errors import SinkError, StoreError
from turnkeeper.domain.events import SWEPT_SEQ, Entry, TurnSwept
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.redact import redact

AT_ONCE = 8
"""How many turns are claimed together: as many as are surely swept within a claim's time."""
FIRST_AGAIN_S = 60.0
LAST_AGAIN_S = 6 * 3600.0
MAX_CLAIMS = 24
"""After so many, about three days, what is stuck is left to people; `doctor` goes on showing it."""
OTHERS_BEFORE = timedelta(minutes=2)

log = logging.getLogger("turnkeeper")


def nobody_told(done: int) -> None:
    """Where nobody asks how far a sweep is."""


@dataclass(slots=True, eq=False, repr=False)
class _Finds:
    """What has become of one orphan's messages so far."""

    posted: list[tuple[str, Delivery]] = field(default_factory=list)
    taken_back: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    webhooks: list[str] = field(default_factory=list)
    shut_webhooks: list[str] = field(default_factory=list)

    @property
    def fates(self) -> Fates:
        return Fates(
            posted=tuple(self.posted),
            taken_back=tuple(self.taken_back),
            stuck=tuple(self.stuck),
        )

    @property
    def has_left_some(self) -> bool:
        return bool(self.stuck or self.unsure or self.shut_webhooks)


class SweepOrphans:
    """Sweeps. Safe to run in several threads and processes at once: each turn is swept by one.

    Args:
        by: Who sweeps, for people who look.
        on_lost_turn: Told of each lost turn.
    """

    def __init__(
        self,
        *,
        orphans: Orphans,
        journal: Journal,
        reader: ChannelReader,
        by: str,
        on_lost_turn: OnLostTurn = nobody,
    ) -> None:
        self._orphans = orphans
        self._journal = journal
        self._reader = reader
        self._by = by
        self._on_lost_turn = on_lost_turn

    def __call__(
        self,
        check: Callable[[], None] = lambda: None,
        told: Callable[[int], None] = nobody_told,
    ) -> SweepReport:
        """Sweep all that is due.

        Args:
            check: Called before each turn; what it raises ends the sweep.
            told: Called after each turn with how many are swept by then.

        Raises:
            StoreError: The store is away; what was claimed comes back by itself.
        """
        report, done = SweepReport(), 0
        while claimed := self._orphans.claim(self._by, limit=AT_ONCE):
            for orphan in claimed:
                check()
                report = report.plus(self._swept(orphan))
                told(done := done + 1)
        self._orphans.free_keys()
        return report

    def is_due(self) -> bool:
        """Whether there is anything to sweep.

        Raises:
            StoreError: The store is away.
        """
        return self._orphans.are_due()

    def _swept(self, orphan: Orphan) -> SweepReport:
        """Sweep one turn; a bug costs only this one, until its claim has run out."""
        try:
            return self._sweep(orphan)
        except StoreError:
            raise
        except Exception as error:
            log.exception("turn %s could not be swept", orphan.turn_id)
            cause = redact(f"{type(error).__name__}: {error}")
            return SweepReport(failed=((orphan.turn_id, cause),))

    def _sweep(self, orphan: Orphan) -> SweepReport:
        finds = _Finds()
        self._look_for_lost(orphan, finds)
        self._take_back_known(orphan, finds)
        self._delete_webhooks(orphan, finds)
        entries = self._journal.entries(orphan.turn_id)
        swept = Swept(
            orphan=orphan,
            fates=finds.fates,
            absent=tuple(finds.absent),
            idle_keys=() if _is_over(orphan) else idle_keys(entries),
            entries=() if orphan.ended_itself else (self._entry(orphan, finds, entries),),
            again_in_s=_again_in_s(orphan) if finds.has_left_some else None,
        )
        if not self._orphans.done(swept):
            return SweepReport()  # it took too long, and whoever took the turn over reports it
        return self._reported(orphan, finds)

    # ── messages ────────────────────────────────────────────────────────────────────────────

    def _look_for_lost(self, orphan: Orphan, finds: _Finds) -> None:
        lost: dict[Place, list[Left]] = {}
        for left in () if orphan.ended_itself else orphan.left:
            if left.state is IntentState.INTENDED and left.intent.origin is not Origin.TOOL:
                lost.setdefault(_place(left), []).append(left)
        for place, some in lost.items():
            try:
                found = self._found(orphan, place, tuple(some))
            except SinkError as error:
                log.warning(
                    "channel %s cannot be looked at: %s", place.channel_id, redact(str(error))
                )
                finds.unsure += [left.intent.intent_id for left in some]
                continue
            finds.absent += found.absent
            finds.unsure += found.unsure
            for intent_id, message in found.messages:
                delivery = Delivery(
                    message_id=message.message_id, channel_id=place.channel_id, text=message.text
                )
                finds.posted.append((intent_id, delivery))
                self._take_back(place, message.message_id, message.webhook_id, finds)

    def _found(self, orphan: Orphan, place: Place, lost: tuple[Left, ...]) -> Found:
        since = min(span(left, orphan)[0] for left in lost)
        # The messages first: whatever is there by then has its intent written.
        messages = self._reader.messages_since(place, since)
        others = tuple(
            left
            for left in self._orphans.others(orphan, since - OTHERS_BEFORE)
            if _place(left) == place
        )
        return find_posted(orphan, lost, messages, others, own_id=self._reader.own_id())

    def _take_back_known(self, orphan: Orphan, finds: _Finds) -> None:
        due = (
            {IntentState.STUCK} if orphan.ended_itself else {IntentState.STUCK, IntentState.POSTED}
        )
        for left in orphan.left:
            is_due = left.state in due and left.intent.origin is not Origin.TOOL
            if is_due and left.message_id is not None:
                self._take_back(_place(left), left.message_id, left.intent.webhook_id, finds)

    def _take_back(
        self, place: Place, message_id: str, webhook_id: str | None, finds: _Finds
    ) -> None:
        try:
            is_gone = self._reader.delete_message(place, message_id, webhook_id=webhook_id)
        except SinkError as error:
            log.warning("message %s cannot be deleted: %s", message_id, redact(str(error)))
            is_gone = False
        (finds.taken_back if is_gone else finds.stuck).append(message_id)

    def _delete_webhooks(self, orphan: Orphan, finds: _Finds) -> None:
        """Last, since it may be what deletes its messages."""
        if orphan.ended_itself:
            return
        temporary = dict.fromkeys(
            left.intent.webhook_id
            for left in orphan.left
            if left.intent.webhook_is_temporary and left.intent.webhook_id is not None
        )
        for webhook_id in temporary:
            try:
                is_gone = self._reader.delete_webhook(webhook_id)
            except SinkError as error:
                log.warning("webhook %s cannot be deleted: %s", webhook_id, redact(str(error)))
                is_gone = False
            (finds.webhooks if is_gone else finds.shut_webhooks).append(webhook_id)

    # ── what is said of it ──────────────────────────────────────────────────────────────────

    def _entry(self, orphan: Orphan, finds: _Finds, entries: tuple[Entry, ...]) -> Entry:
        own = [entry.seq for entry in entries if entry.seq < SWEPT_SEQ]
        event = TurnSwept(
            by=self._by,
            silent_s=(orphan.now - orphan.alive_until).total_seconds(),
            last_seq=max(own, default=None),
            taken_back=tuple(finds.taken_back),
            stuck=tuple(finds.stuck),
            absent=len(finds.absent),
        )
        return Entry(
            turn_id=orphan.turn_id,
            seq=SWEPT_SEQ + orphan.claim_no,
            at_s=(orphan.now - orphan.opened_at).total_seconds(),
            event=event,
        )

    def _reported(self, orphan: Orphan, finds: _Finds) -> SweepReport:
        report = SweepReport(
            taken_back=tuple(finds.taken_back),
            stuck=tuple(finds.stuck),
            absent=len(finds.absent),
            unsure=len(finds.unsure),
            webhooks=tuple(finds.webhooks),
        )
        if _is_over(orphan):
            return replace(report, retried=1)
        lost = _lost(orphan, finds)
        try:
            self._on_lost_turn(lost)
        except Exception:
            log.exception("on_lost_turn failed for turn %s", orphan.turn_id)
        return replace(report, lost=(lost,))


def _is_over(orphan: Orphan) -> bool:
    return orphan.ended_itself or orphan.swept_before


def _place(left: Left) -> Place:
    return Place(channel_id=left.intent.channel_id, thread_id=left.intent.thread_id)


def _again_in_s(orphan: Orphan) -> float | None:
    """Each time twice as long, and not for ever."""
    if orphan.claim_no >= MAX_CLAIMS:
        return None
    return float(min(LAST_AGAIN_S, FIRST_AGAIN_S * 2 ** (orphan.claim_no - 1)))


def _lost(orphan: Orphan, finds: _Finds) -> LostTurn:
    return LostTurn(
        turn_id=orphan.turn_id,
        server_id=orphan.server.id,
        channel_id=orphan.channel_id,
        user_id=orphan.user_id,
        turn_key=orphan.turn_key,
        successor=orphan.successor,
        taken_back=tuple(finds.taken_back),
        stuck=tuple(finds.stuck),
    )
