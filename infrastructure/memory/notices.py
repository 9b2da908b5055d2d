"""Notices in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.notices import CLAIM_S, KEPT_S, Notices
from turnkeeper.domain.notice import ALIVE_S, Notice, NoticeDetails, NoticeExpired, NoticePlace
from turnkeeper.infrastructure.memory.latest import Latest


@dataclass(slots=True)
class _Kept:
    notice: Notice
    user_id: str | None
    expires_at: datetime
    claimed_until: datetime


class MemoryNotices(Notices):
    """Keeps them in a dict by server and message."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()  # guards the dict and what is in it
        self._kept: Latest[tuple[str, str], _Kept] = Latest()

    def save(
        self,
        place: NoticePlace,
        details: NoticeDetails,
        *,
        alive_s: float = ALIVE_S,
        user_id: str | None = None,
    ) -> None:
        now, notice = self._clock.now(), Notice(place=place, details=details)
        kept = _Kept(notice, user_id, now + timedelta(seconds=alive_s), now)
        with self._lock:
            self._prune(now)
            self._kept[_key(place)] = kept

    def find(self, message_id: str) -> NoticeDetails | NoticeExpired | None:
        now = self._clock.now()
        with self._lock:
            found = (one for (_, of), one in self._kept.items() if of == message_id)
            kept = next(found, None)
        if kept is None:
            return None
        return NoticeExpired() if kept.expires_at <= now else kept.notice.details

    def due(self, limit: int, *, claim_s: float = CLAIM_S) -> tuple[Notice, ...]:
        now = self._clock.now()
        with self._lock:
            self._prune(now)
            over = sorted(self._over(now), key=lambda one: one.expires_at)[:limit]
            for one in over:
                one.claimed_until = now + timedelta(seconds=claim_s)
        return tuple(one.notice for one in over)

    def forget(self, place: NoticePlace) -> None:
        with self._lock:
            self._kept.pop(_key(place), None)

    def count_of(self, user_id: str) -> int:
        """How many are kept of turns that a user asked for."""
        with self._lock:
            return sum(one.user_id == user_id for one in self._kept.values())

    def forget_of(self, user_id: str) -> int:
        """Forget those of turns that a user asked for; returns how many."""
        return self._forget(lambda one: one.user_id == user_id)

    def forget_old(self, before: datetime, limit: int) -> int:
        """Forget those whose time was over before; returns how many."""
        return self._forget(lambda one: one.expires_at < before, limit)

    def _forget(self, which: Callable[[_Kept], bool], limit: int | None = None) -> int:
        with self._lock:
            gone = [key for key, one in self._kept.items() if which(one)][:limit]
            for key in gone:
                del self._kept[key]
        return len(gone)

    def _over(self, now: datetime) -> list[_Kept]:
        kept = self._kept.values()
        return [one for one in kept if one.expires_at <= now and one.claimed_until <= now]

    def _prune(self, now: datetime) -> None:
        long_ago = now - timedelta(seconds=KEPT_S)
        for key in [key for key, one in self._kept.items() if one.expires_at <= long_ago]:
            del self._kept[key]


def _key(place: NoticePlace) -> tuple[str, str]:
    return place.server_id, place.message_id
