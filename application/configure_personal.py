"""What a user has set for the user's own turns."""

from turnkeeper.application.configure_models import (
    ConfigureModels,
    merged,
    reference_of,
    sound,
    without_same,
)
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import EndpointEntry, ModelEntry
from turnkeeper.domain.settings import PersonalSettings, SavedProvider


class ConfigurePersonal(ConfigureModels):
    """A user's provider rows, fallbacks, and whether the server may help out."""

    def personal(self, user_id: str) -> PersonalSettings:
        """All that a user has set."""
        return self._ports.store.personal(user_id)

    def set_personal_provider(
        self, user_id: str, row: SavedProvider, *, model: str | None = None
    ) -> PersonalSettings:
        """Save a provider row; one that is enabled for text takes that from the others.

        Args:
            model: What answers: a registered model of the row's provider, or ``endpoint:ID`` for
                a row ``custom:N``. None keeps what the row itself says.
        """
        with self._ports.changing:
            settings = self.personal(user_id)
            whole = self._row(user_id, row, model)
            others = [one for one in settings.providers if one.provider != whole.provider]
            if whole.text_enabled:
                others = [replace(one, text_enabled=False) for one in others]
            rows = tuple(sorted((*others, whole), key=lambda one: one.provider))
            return self._save_personal(replace(settings, providers=rows))

    def remove_personal_provider(self, user_id: str, provider: str) -> PersonalSettings:
        """Forget a provider row. Its keys stay until they are removed."""
        with self._ports.changing:
            settings = self.personal(user_id)
            rows = tuple(one for one in settings.providers if one.provider != provider)
            if rows == settings.providers:
                known = ", ".join(one.provider for one in rows) or "none"
                raise SettingsError(f"user {user_id} has no provider {provider!r}; set: {known}")
            return self._save_personal(replace(settings, providers=rows))

    def set_personal_fallbacks(self, user_id: str, models: tuple[str, ...]) -> PersonalSettings:
        """Replace the user's chain; one that is named twice counts once, none clears it."""
        with self._ports.changing:
            settings = self.personal(user_id)
            owner = Owner.user(user_id)
            chain = merged(self._entry(owner, text) for text in models)
            primary = settings.primary
            if primary and without_same(primary, chain) != chain:
                raise SettingsError(
                    f"the model of user {user_id} cannot be its own fallback;"
                    f" leave it out of: {', '.join(models)}"
                )
            return self._save_personal(replace(settings, chain=chain))

    def allow_server_fallback(self, user_id: str, allowed: bool) -> PersonalSettings:
        """Say whether the server may answer where the user's own keys fail."""
        with self._ports.changing:
            return self._save_personal(replace(self.personal(user_id), server_fallback=allowed))

    def _row(self, user_id: str, row: SavedProvider, model: str | None) -> SavedProvider:
        row = replace(row, provider=self.find_provider(row.provider), sampling=sound(row.sampling))
        if model is None:
            return row
        entry = self._entry(Owner.user(user_id), model)
        match entry:
            case ModelEntry(model=found) if found.provider == row.provider:
                return replace(row, model=found, endpoint=None)
            case EndpointEntry(endpoint=found) if found.provider == row.provider:
                stands_for = self.find_model(found.model_id) if found.model_id else None
                return replace(row, model=stands_for, endpoint=found)
            case _:
                raise SettingsError(f"{model!r} is not a model of {row.provider}")

    def _save_personal(self, settings: PersonalSettings) -> PersonalSettings:
        owner = Owner.user(settings.user_id)
        primary = settings.primary
        chain = without_same(primary, settings.chain) if primary else settings.chain
        self._ports.editor.save_personal(
            replace(settings, chain=chain), chain=tuple(reference_of(entry) for entry in chain)
        )
        self._ports.known.forget(owner)
        return self.personal(settings.user_id)
