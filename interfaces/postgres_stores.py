"""The store that is Postgres. Imported only where it is built: the driver takes its time."""

from sqlalchemy import Engine

from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.vault import Vault
from turnkeeper.infrastructure.postgres.journal import PostgresJournal
from turnkeeper.infrastructure.postgres.key_ring import PostgresKeyRing
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.ledger import PostgresLedger
from turnkeeper.infrastructure.postgres.notices import PostgresNotices
from turnkeeper.infrastructure.postgres.old_turns import PostgresOldTurns
from turnkeeper.infrastructure.postgres.orphans import PostgresOrphans
from turnkeeper.infrastructure.postgres.reports import PostgresReports
from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor
from turnkeeper.infrastructure.postgres.settings_store import PostgresSettingsStore
from turnkeeper.infrastructure.postgres.signals import PostgresSignals
from turnkeeper.infrastructure.postgres.standings import PostgresStandings
from turnkeeper.infrastructure.postgres.token_measures import PostgresTokenMeasures
from turnkeeper.infrastructure.postgres.turn_history import PostgresTurnHistory
from turnkeeper.infrastructure.postgres.turn_store import PostgresTurnStore
from turnkeeper.infrastructure.postgres.user_traces import PostgresUserTraces
from turnkeeper.infrastructure.postgres.webhook_store import PostgresWebhookStore
from turnkeeper.interfaces.stores import Stores


def postgres_stores(engine: Engine, *, vault: Vault, runner: Runner) -> Stores:
    """All ports on one engine; nothing is asked of the database yet."""
    signals = PostgresSignals(engine, runner=runner)
    return Stores(
        settings=PostgresSettingsStore(engine),
        editor=PostgresSettingsEditor(engine),
        keys=PostgresKeyRing(engine, vault=vault),
        key_vault=PostgresKeyVault(engine, vault=vault),
        turns=PostgresTurnStore(engine),
        standings=PostgresStandings(engine),
        ledger=PostgresLedger(engine),
        journal=PostgresJournal(engine),
        signals=signals,
        measures=PostgresTokenMeasures(engine),
        notices=PostgresNotices(engine),
        webhooks=PostgresWebhookStore(engine, vault=vault),
        old=PostgresOldTurns(engine),
        history=PostgresTurnHistory(engine),
        traces=PostgresUserTraces(engine),
        reports=PostgresReports(engine),
        orphans=PostgresOrphans(engine),
        close=signals.close,
    )
