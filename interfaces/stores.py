"""All ports of one store, built together."""

from collections.abc import Callable

from turnkeeper.application.ports.journal import Journal
from turnkeeper.application.ports.key_ring import KeyRing, KeyVault
from turnkeeper.application.ports.ledger import Ledger
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.old_turns import OldTurns
from turnkeeper.application.ports.orphans import Orphans
from turnkeeper.application.ports.reports import Reports
from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.signals import Signals
from turnkeeper.application.ports.standings import Standings
from turnkeeper.application.ports.token_measures import TokenMeasures
from turnkeeper.application.ports.turn_history import TurnHistory
from turnkeeper.application.ports.turn_store import TurnStore
from turnkeeper.application.ports.user_traces import UserTraces
from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord.webhook_store import WebhookStore


@frozen
class Stores:
    """What one store keeps, port by port.

    Attributes:
        close: Ends what runs beside it.
    """

    settings: SettingsStore
    editor: SettingsEditor
    keys: KeyRing
    key_vault: KeyVault
    turns: TurnStore
    standings: Standings
    ledger: Ledger
    journal: Journal
    signals: Signals
    measures: TokenMeasures
    notices: Notices
    webhooks: WebhookStore
    orphans: Orphans
    old: OldTurns
    history: TurnHistory
    traces: UserTraces
    reports: Reports
    close: Callable[[], None] = lambda: None
