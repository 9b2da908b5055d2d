"""The stores of running turns in memory, as their contracts want them."""

from contracts.keys import Keys
from contracts.stores import Stores
from fakes import FrozenClock
from forgetful_vault import ForgetfulVault

from turnkeeper.domain.owner import Owner
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
from turnkeeper.infrastructure.memory.turn_history import MemoryTurnHistory
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.memory.user_traces import MemoryUserTraces


def stores_in_memory() -> Stores:
    clock, vault = FrozenClock(), ForgetfulVault()
    journal = MemoryJournal(clock.now)
    versions: dict[Owner, int] = {}
    register = Register(clock)
    notices, settings = MemoryNotices(clock), MemorySettingsStore()
    ring = MemoryKeyRing(vault=vault, clock=clock)
    ledger = MemoryLedger(register, journal=journal)
    turns = MemoryTurnStore(
        register, ledger=ledger, keys=ring, version_of=lambda owner: versions.get(owner, 0)
    )
    return Stores(
        turns=turns,
        standings=turns,
        ledger=ledger,
        journal=journal,
        signals=MemorySignals(register),
        keys=Keys(ring=ring, saved=ring, vault=vault, pass_time=clock.advance),
        orphans=MemoryOrphans(register, ledger=ledger, turns=turns, keys=ring, journal=journal),
        history=MemoryTurnHistory(register, journal=journal),
        old=MemoryOldTurns(register, ledger=ledger, journal=journal, turns=turns, notices=notices),
        traces=MemoryUserTraces(
            register=register,
            ledger=ledger,
            journal=journal,
            turns=turns,
            notices=notices,
            keys=ring,
            settings=settings,
        ),
        notices=notices,
        settings=settings,
        editor=settings,
        reports=MemoryReports(register, journal=journal),
        pass_time=clock.advance,
        now=clock.now,
        set_version=versions.__setitem__,
    )
