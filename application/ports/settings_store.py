"""Where servers' and users' settings are kept."""

from typing import Protocol

from turnkeeper.domain.model import Model
from turnkeeper.domain.settings import PersonalSettings, ServerSettings


class SettingsStore(Protocol):
    """Reads settings. Safe to use from several threads.

    What a reference names is resolved on the way: a chain entry that leads nowhere comes back as
    a `BrokenEntry` with its cause. An owner that never set anything has default settings.

    Raises:
        StoreUnavailable: From every method: the store cannot be reached.
    """

    def server(self, server_id: str) -> ServerSettings:
        """All that a server has set."""
        ...

    def personal(self, user_id: str) -> PersonalSettings:
        """All that a user has set."""
        ...

    def find_model(self, text: str) -> Model | None:
        """The registered model of that id, or of that unambiguous name, or None."""
        ...
