"""The store that forgets: for tests and staging."""

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.vault import Vault
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.old_turns import MemoryOldTurns
from turnkeeper.infrastructure.memory.orphans import MemoryOrphans
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.reports import MemoryReports
from turnkeeper.infrastructure.memory.settings_store import MemorySettingsStore
from turnkeeper.infrastructure.memory.signals import MemorySignals
from turnkeeper.infrastructure.memory.token_measures import MemoryTokenMeasures
from turnkeeper.infrastructure.memory.turn_history import MemoryTurnHistory
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.memory.user_traces import MemoryUserTraces
from turnkeeper.infrastructure.memory.webhook_store import MemoryWebhookStore
from turnkeeper.interfaces.stores import Stores


def memory_stores(*, vault: Vault, clock: Clock) -> Stores:
    """All ports over one register of turns."""
    register = Register(clock)
    journal = MemoryJournal(clock.now)
    ledger = MemoryLedger(register, journal=journal)
    keys = MemoryKeyRing(vault=vault, clock=clock)
    settings = MemorySettingsStore()
    notices = MemoryNotices(clock)
    turns = MemoryTurnStore(register, ledger=ledger, keys=keys, version_of=settings.version_of)
    return Stores(
        settings=settings,
        editor=settings,
        keys=keys,
        key_vault=keys,
        turns=turns,
        standings=turns,
        ledger=ledger,
        journal=journal,
        signals=MemorySignals(register),
        measures=MemoryTokenMeasures(),
        notices=notices,
        webhooks=MemoryWebhookStore(),
        history=MemoryTurnHistory(register, journal=journal),
        old=MemoryOldTurns(register, ledger=ledger, journal=journal, turns=turns, notices=notices),
        traces=MemoryUserTraces(
            register=register,
            ledger=ledger,
            journal=journal,
            turns=turns,
            notices=notices,
            keys=keys,
            settings=settings,
        ),
        reports=MemoryReports(register, journal=journal),
        orphans=MemoryOrphans(register, ledger=ledger, turns=turns, keys=keys, journal=journal),
    )
