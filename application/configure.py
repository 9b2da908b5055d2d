"""All that owners can set. The rules of it are here; the store only keeps the values."""

from turnkeeper.application.configure_keys import ConfigureKeys
from turnkeeper.application.configure_prices import ConfigurePrices
from turnkeeper.application.transfer_settings import TransferSettings


class Configure(ConfigureKeys, TransferSettings, ConfigurePrices):
    """Keys, models, endpoints, servers and users. Safe to use from several threads.

    Every change is checked first, is written whole or not at all, and counts from the next turn
    on. Each method that changes an owner returns what is set now.

    Raises:
        SettingsError: What was asked makes no sense; the message says what would.
        StoreError: It could not be read or written; nothing was changed.
    """
