"""Settings as they were last read; a turn's opening says whether they are still true."""

from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import PersonalSettings, ServerSettings

MAX_KNOWN = 10_000


class KnownSettings:
    """Remembers what the store said. Safe to use from several threads.

    Plain dict reads and writes need no lock; two threads that read the same settings at once
    store equal values.
    """

    def __init__(self, store: SettingsStore, *, max_known: int = MAX_KNOWN) -> None:
        self._store = store
        self._max_known = max_known
        self._known: dict[Owner, ServerSettings | PersonalSettings] = {}

    def server(self, server_id: str) -> ServerSettings:
        """A server's settings, as last read."""
        owner = Owner.server(server_id)
        known = self._known.get(owner)
        if isinstance(known, ServerSettings):
            return known
        settings = self._store.server(server_id)
        self._remember(owner, settings)
        return settings

    def personal(self, user_id: str) -> PersonalSettings:
        """A user's settings, as last read."""
        owner = Owner.user(user_id)
        known = self._known.get(owner)
        if isinstance(known, PersonalSettings):
            return known
        settings = self._store.personal(user_id)
        self._remember(owner, settings)
        return settings

    def are_current(self, versions: tuple[tuple[Owner, int], ...]) -> bool:
        """Whether all that was read of these owners is still true; what is not is forgotten."""
        stale = [
            owner
            for owner, version in versions
            if (known := self._known.get(owner)) is not None and known.version != version
        ]
        for owner in stale:
            self._known.pop(owner, None)
        return not stale

    def forget(self, owner: Owner) -> None:
        """Read this owner's settings anew next time."""
        self._known.pop(owner, None)

    def _remember(self, owner: Owner, settings: ServerSettings | PersonalSettings) -> None:
        if len(self._known) >= self._max_known:
            self._known.clear()
        self._known[owner] = settings
