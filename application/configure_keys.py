"""Saved keys: added, listed, replaced, removed. Nothing here ever shows one."""

from turnkeeper.application.configure_models import ConfigureModels
from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyId
from turnkeeper.domain.secret import Secret


class ConfigureKeys(ConfigureModels):
    """The keys of all owners."""

    def add_key(
        self, owner: Owner, provider: str, key: Secret | str, *, is_main: bool = False
    ) -> SavedKey:
        """Save a key as it was pasted; white space around it is left out.

        Args:
            is_main: Whether it becomes the owner's own key; the first one always does.
        """
        name = self.find_provider(provider)
        key_id = self._ports.keys.add(owner, name, _pasted(key, name), is_main=is_main)
        return self._saved(owner, key_id)

    def saved_keys(
        self, owner: Owner | None = None, provider: str | None = None
    ) -> tuple[SavedKey, ...]:
        """The saved keys as they may be shown."""
        return self._ports.keys.keys(owner, provider)

    def replace_key(self, owner: Owner, key_id: KeyId, key: Secret | str) -> SavedKey:
        """Put another key in the place of one, which is then fit for use again."""
        secret = _pasted(key, self._saved(owner, key_id).provider)
        self._found(self._ports.keys.replace(owner, key_id, secret), owner, key_id)
        return self._saved(owner, key_id)

    def enable_key(self, owner: Owner, key_id: KeyId, enabled: bool = True) -> SavedKey:
        """Let a key take part in the rotation, or not."""
        self._found(self._ports.keys.enable(owner, key_id, enabled), owner, key_id)
        return self._saved(owner, key_id)

    def remove_key(self, owner: Owner, key_id: KeyId) -> None:
        """Forget a key."""
        self._found(self._ports.keys.remove(owner, key_id), owner, key_id)

    def _saved(self, owner: Owner, key_id: KeyId) -> SavedKey:
        for saved in self._ports.keys.keys(owner):
            if saved.key.id == key_id:
                return saved
        raise self._missing(owner, key_id)

    def _found(self, found: bool, owner: Owner, key_id: KeyId) -> None:
        if not found:
            raise self._missing(owner, key_id)

    def _missing(self, owner: Owner, key_id: KeyId) -> SettingsError:
        known = ", ".join(str(saved.key.id) for saved in self._ports.keys.keys(owner)) or "none"
        return SettingsError(f"{owner} has no key {key_id}; there are: {known}")


def _pasted(key: Secret | str, provider: str) -> Secret:
    try:
        return Secret.pasted(key.reveal() if isinstance(key, Secret) else key)
    except ValueError as error:
        raise SettingsError(f"the key for {provider} cannot be used: {error}") from None
