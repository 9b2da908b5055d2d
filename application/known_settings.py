"""Settings as they were last read; a turn's opening says whether they are still true."""

from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.settings import PersonalSettings, ServerSettings

MAX_KNOWN = 10_000

_SERVER = OwnerKind.SERVER


class KnownSettings:
    """Remembers what the store said. Safe to use from several threads.

    Plain dict reads and writes need no lock; two threads that read the same settings at once
    store equal values.
    """

    def __init__(self, store: SettingsStore, *, max_known: int = MAX_KNOWN) -> None:
        self._store = store
        self._max_known = max_known
        self._servers: dict[str, ServerSettings] = {}
        self._users: dict[str, PersonalSettings] = {}

    def server(self, server_id: str) -> ServerSettings:
        """A server's settings, as last read."""
        known = self._servers.get(server_id)
        if known is None:
            known = self._store.server(server_id)
            self._make_room()
            self._servers[server_id] = known
        return known

    def personal(self, user_id: str) -> PersonalSettings:
        """A user's settings, as last read."""
        known = self._users.get(user_id)
        if known is None:
            known = self._store.personal(user_id)
            self._make_room()
            self._users[user_id] = known
        return known

    def are_current(self, versions: tuple[tuple[Owner, int], ...]) -> bool:
        """Whether all that was read of these owners is still true; what is not is forgotten."""
        are_current = True
        for owner, version in versions:
            settings = self._servers if owner.kind is _SERVER else self._users
            known = settings.get(owner.id)
            if known is not None and known.version != version:
                self.forget(owner)
                are_current = False
        return are_current

    def forget(self, owner: Owner) -> None:
        """Read this owner's settings anew next time."""
        settings = self._servers if owner.kind is _SERVER else self._users
        settings.pop(owner.id, None)

    def _make_room(self) -> None:
        if len(self._servers) + len(self._users) >= self._max_known:
            self._servers.clear()
            self._users.clear()
