"""Small changes of what is set: one fallback more or less, one row's preference, all forgotten."""

from collections.abc import Callable

from turnkeeper.application.configure_endpoints import ConfigureEndpoints
from turnkeeper.application.configure_models import merged, paired, sound, without_same
from turnkeeper.application.portable import written
from turnkeeper.domain.admission import CooldownRule
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Sampling
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.plan import BrokenEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings


class ConfigureChanges(ConfigureEndpoints):
    """What people change step by step, where the rest of it is to stay."""

    def owners(self) -> tuple[Owner, ...]:
        """All that have ever set anything."""
        return self._ports.editor.owners()

    def settings_of(self, owner: Owner) -> ServerSettings | PersonalSettings:
        """All that an owner has set."""
        is_server = owner.kind is OwnerKind.SERVER
        return self.server(owner.id) if is_server else self.personal(owner.id)

    def remove_model(self, model: str) -> None:
        """Forget a registered model; one that somebody uses is refused."""
        with self._ports.changing:
            found = self.find_model(model)
            users = self._ports.editor.owners(using=found.id)
            if users:
                named = ", ".join(map(str, users[:5])) + (", …" if len(users) > 5 else "")
                raise SettingsError(f"{found.id} is used by {named}; set other models there first")
            self._ports.editor.remove_model(found.id)

    # ── several of a server's at once ───────────────────────────────────────────────────────

    def set_rules(
        self,
        server_id: str,
        *,
        member_keys_only: bool | None = None,
        content_filter: ContentFilterPolicy | None = None,
        sampling: Callable[[Sampling], Sampling] | None = None,
    ) -> ServerSettings:
        """Set what is given, in one change; None stays as it is.

        Args:
            sampling: Makes of what the server's requests set what they set from now on.
        """
        with self._ports.changing:
            settings = self.server(server_id)
            if member_keys_only is not None:
                settings = replace(settings, member_keys_only=member_keys_only)
            if content_filter is not None:
                settings = replace(settings, content_filter=content_filter)
            if sampling is not None:
                settings = replace(settings, sampling=sound(sampling(settings.sampling)))
            return self._save_server(settings)

    def set_channel(
        self, server_id: str, channel_id: str, *, model: str | None, cooldown: CooldownRule | None
    ) -> ServerSettings:
        """Set what is different in a channel, in one change; None stays as it is."""
        with self._ports.changing:
            settings = self.server(server_id)
            if model is not None:
                models = paired(settings.channel_models, channel_id, self.find_model(model))
                settings = replace(settings, channel_models=models)
            if cooldown is not None:
                rules = paired(settings.channel_cooldowns, channel_id, cooldown)
                settings = replace(settings, channel_cooldowns=rules)
            return self._save_server(settings)

    # ── a server's primary model ────────────────────────────────────────────────────────────

    def clear_model(self, server_id: str) -> ServerSettings:
        """Have no primary model; the randomizer goes off with it."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), primary=None))

    def remove_server_provider(self, server_id: str, provider: str) -> ServerSettings:
        """Forget what a server set for one provider. Its keys stay until they are removed."""
        with self._ports.changing:
            settings = self.server(server_id)
            rows = tuple(one for one in settings.providers if one.provider != provider)
            if rows == settings.providers:
                known = ", ".join(one.provider for one in rows) or "none"
                raise SettingsError(
                    f"server {server_id} has nothing set for {provider!r}; set: {known}"
                )
            return self._save_server(replace(settings, providers=rows))

    # ── chains ──────────────────────────────────────────────────────────────────────────────

    def add_fallback(
        self, owner: Owner, model: str, place: int | None = None
    ) -> ServerSettings | PersonalSettings:
        """Put a model into the chain, or elsewhere if it is in it.

        Args:
            place: From 1; None is the end.
        """
        with self._ports.changing:
            entry = self._entry(owner, model)
            chain = self.settings_of(owner).chain
            others = tuple(one for one in chain if written(one) != written(entry))
            at = len(others) if place is None else place - 1
            return self._with_chain(owner, (*others[:at], entry, *others[at:]))

    def remove_fallback(self, owner: Owner, model: str) -> ServerSettings | PersonalSettings:
        """Take a model, or a reference that leads nowhere, out of the chain."""
        with self._ports.changing:
            chain = self.settings_of(owner).chain
            names = [one for one in map(written, chain) if one == model]
            if not names:
                names = [written(one) for one in chain if _goes_by(one, model)]
            if len(names) != 1:
                known = ", ".join(map(written, chain)) or "none"
                raise SettingsError(f"{owner} has no fallback {model!r}; there are: {known}")
            left = tuple(one for one in chain if written(one) != names[0])
            return self._with_chain(owner, left)

    def _with_chain(
        self, owner: Owner, chain: tuple[FallbackEntry, ...]
    ) -> ServerSettings | PersonalSettings:
        settings = replace(self.settings_of(owner), chain=merged(chain))
        primary = settings.primary
        if primary and without_same(primary, settings.chain) != settings.chain:
            raise SettingsError(
                f"{written(primary)} is the primary model of {owner} and cannot be its own fallback"
            )
        if isinstance(settings, ServerSettings):
            return self._save_server(settings)
        return self._save_personal(settings)

    # ── a user's rows ───────────────────────────────────────────────────────────────────────

    def use_personal_model(self, user_id: str, model: str) -> PersonalSettings:
        """Let a model or endpoint answer the user's turns, with what its provider's row says."""
        with self._ports.changing:
            entry = self._entry(Owner.user(user_id), model)
            assert not isinstance(entry, BrokenEntry)  # whose text was refused
            answers = entry.model if isinstance(entry, ModelEntry) else entry.endpoint
            row = replace(self._personal_row(user_id, answers.provider), text_enabled=True)
            return self.set_personal_provider(user_id, row, model=model)

    def randomize_personal(
        self, user_id: str, enabled: bool, provider: str | None = None
    ) -> PersonalSettings:
        """Let a random one of the user's models lead each turn, or not.

        Args:
            provider: Whose row says so; None is the one that pays for the user's turns.
        """
        with self._ports.changing:
            settings = self.personal(user_id)
            if enabled and not settings.chain:
                raise SettingsError(
                    f"user {user_id} has no fallback to draw from;"
                    f" set one with `turnkeeper fallback set MODEL --user {user_id}`"
                )
            if provider is None and settings.text_route is None:
                raise SettingsError(
                    f"no provider pays for the turns of user {user_id};"
                    f" choose a model with `turnkeeper model use MODEL --user {user_id}`"
                )
            name = provider or (settings.text_route.provider if settings.text_route else "")
            row = replace(self._personal_row(user_id, name), randomizer=enabled)
            return self.set_personal_provider(user_id, row)

    def set_personal_sampling(
        self, user_id: str, provider: str, sampling: Sampling
    ) -> PersonalSettings:
        """Set what the user's requests to one provider set."""
        with self._ports.changing:
            row = replace(self._personal_row(user_id, provider), sampling=sampling)
            return self.set_personal_provider(user_id, row)

    def reset_user(self, user_id: str) -> PersonalSettings:
        """Set nothing any more, as before the first change; keys and endpoints stay."""
        with self._ports.changing:
            version = self.personal(user_id).version
            return self._save_personal(PersonalSettings(user_id=user_id, version=version))

    def _personal_row(self, user_id: str, provider: str) -> SavedProvider:
        name = self.find_provider(provider)
        rows = {row.provider: row for row in self.personal(user_id).providers}
        return rows.get(name) or SavedProvider(provider=name)


def _goes_by(entry: FallbackEntry, name: str) -> bool:
    return isinstance(entry, ModelEntry) and entry.model.name == name
