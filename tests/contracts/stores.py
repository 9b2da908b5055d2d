"""The stores of running turns under test, and the hands that move their time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from builders import SERVER
from contracts.keys import Keys

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.ledger import Intent, Ledger
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.old_turns import OldTurns
from turnkeeper.application.ports.orphans import Orphans
from turnkeeper.application.ports.reports import Reports
from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.signals import Signals
from turnkeeper.application.ports.standings import Standings
from turnkeeper.application.ports.turn_history import TurnHistory
from turnkeeper.application.ports.turn_store import Closing, Opened, Opening, TurnStore
from turnkeeper.application.ports.user_traces import UserTraces
from turnkeeper.domain.admission import (
    Admission,
    AdmissionCheck,
    CooldownCheck,
    Granted,
    QuotaCheck,
    QuotaRule,
    RefusalKind,
    Refused,
    Reservation,
)
from turnkeeper.domain.finish import Commit, Nothing, Release, Settle
from turnkeeper.domain.outcome import Origin, TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnResult

DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The adapters of one store, which know each other's turns."""

    turns: TurnStore
    standings: Standings
    ledger: Ledger
    journal: Journal
    signals: Signals
    keys: Keys
    orphans: Orphans
    old: OldTurns
    history: TurnHistory
    traces: UserTraces
    notices: Notices
    settings: SettingsStore
    editor: SettingsEditor
    reports: Reports
    pass_time: Callable[[float], None]
    now: Callable[[], datetime]
    set_version: Callable[[Owner, int], None] = field(default=lambda owner, version: None)

    def open(self, turn_id: str = "t1", **more: object) -> Opened:
        """Open a turn, which is neither running nor ended."""
        opened = self.turns.open(an_opening(turn_id, **more))
        assert isinstance(opened, Opened)
        return opened

    def start(self, turn_id: str = "t1", **more: object) -> Opened:
        """Open a turn that nothing refuses."""
        opened = self.open(turn_id, **more)
        assert isinstance(opened.admission, Granted)
        return opened

    def close(self, turn_id: str = "t1", *, settle: Settle = Nothing(), **more: object) -> None:
        self.turns.close(a_closing(turn_id, settle=settle, **more))

    def use(self, reservation: Reservation) -> None:
        """End the holder's turn with its unit used."""
        self.close(reservation.holder, settle=Commit(reservation=reservation))

    def give_back(self, reservation: Reservation, *, epoch: int = 1) -> None:
        """End the holder's turn with its unit not used."""
        self.close(reservation.holder, settle=Release(reservation=reservation), epoch=epoch)

    def seconds_until(self, instant: datetime | None) -> float:
        assert instant is not None
        return (instant - self.now()).total_seconds()


def an_opening(turn_id: str = "t1", **more: object) -> Opening:
    values: dict[str, object] = {
        "turn_id": turn_id,
        "turn_key": "",
        "server": SERVER,
        "channel_id": "channel",
        "user_id": "ann",
        "admission": None,
        **more,
    }
    return Opening(**values)  # type: ignore[arg-type]


def a_closing(turn_id: str = "t1", **more: object) -> Closing:
    values: dict[str, object] = {
        "turn_id": turn_id,
        "epoch": 1,
        "server": SERVER,
        "channel_id": "channel",
        "settle": Nothing(),
        "result": a_result(turn_id),
        **more,
    }
    return Closing(**values)  # type: ignore[arg-type]


def a_result(turn_id: str = "t1", status: TurnStatus = TurnStatus.COMPLETED) -> TurnResult:
    return TurnResult(status=status, turn_id=turn_id)


def an_intent(intent_id: str = "i1", turn_id: str = "t1", **more: object) -> Intent:
    values: dict[str, object] = {
        "intent_id": intent_id,
        "turn_id": turn_id,
        "epoch": 1,
        "server_id": SERVER.id,
        "channel_id": "channel",
        "origin": Origin.STREAM,
        "content_hash": "0" * 64,
        **more,
    }
    return Intent(**values)  # type: ignore[arg-type]


def a_check(trigger_key: str = "trigger", holder: str = "", **more: object) -> AdmissionCheck:
    """A check of a turn that is called as its trigger, if it is not said otherwise."""
    values: dict[str, object] = {
        "server_id": SERVER.id,
        "trigger_key": trigger_key,
        "holder": holder or trigger_key,
        "cooldown": None,
        "quota": None,
        **more,
    }
    return AdmissionCheck(**values)  # type: ignore[arg-type]


def cooling(
    trigger_key: str, scope: str = "", *, exempt: bool = False, s: int = 5
) -> AdmissionCheck:
    """A check of the cooldown alone."""
    cooldown = CooldownCheck(scope=scope, length_s=s, is_exempt=exempt)
    return a_check(trigger_key, cooldown=cooldown)


def counting(
    trigger_key: str,
    holder: str = "",
    *,
    user: str = "ann",
    daily: int = 0,
    wide: int = 0,
    days: int = 1,
    **more: object,
) -> AdmissionCheck:
    """A check of the quota alone."""
    rule = QuotaRule(enabled=True, daily_per_user=daily, server_wide=wide, period_days=days)
    return a_check(trigger_key, holder, quota=QuotaCheck(user_id=user, rule=rule), **more)


def reserved(admission: Admission) -> Reservation:
    """The unit that was granted."""
    assert isinstance(admission, Granted)
    assert admission.reservation is not None
    return admission.reservation


def refused(admission: Admission) -> RefusalKind | None:
    """Which rule refused, or None."""
    return admission.kind if isinstance(admission, Refused) else None
