"""Which models a server uses, and in which order."""

from turnkeeper.application.configure_models import (
    ConfigureModels,
    merged,
    paired,
    reference_of,
    without_same,
)
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import ServerSettings


class ConfigureServer(ConfigureModels):
    """A server's primary model, its fallbacks, and the models of channels and personas.

    A model is named by its id or its unambiguous name, an endpoint as ``endpoint:ID``.
    """

    def server(self, server_id: str) -> ServerSettings:
        """All that a server has set."""
        return self._ports.store.server(server_id)

    def use_model(self, server_id: str, model: str) -> ServerSettings:
        """Make it the primary model; the chain loses whatever is the same model."""
        with self._ports.changing:
            settings = self.server(server_id)
            primary = self._entry(Owner.server(server_id), model)
            chain = without_same(primary, settings.chain)
            return self._save_server(replace(settings, primary=primary, chain=chain))

    def set_fallbacks(self, server_id: str, models: tuple[str, ...]) -> ServerSettings:
        """Replace the chain; one that is named twice counts once, where it is first."""
        with self._ports.changing:
            settings = self.server(server_id)
            owner = Owner.server(server_id)
            chain = merged(self._entry(owner, text) for text in models)
            if settings.primary and without_same(settings.primary, chain) != chain:
                raise SettingsError(
                    f"the primary model of server {server_id} cannot be its own fallback;"
                    f" leave it out of: {', '.join(models)}"
                )
            return self._save_server(replace(settings, chain=chain))

    def clear_fallbacks(self, server_id: str) -> ServerSettings:
        """Leave the primary model alone; the randomizer goes off with the last fallback."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), chain=()))

    def randomize(self, server_id: str, enabled: bool) -> ServerSettings:
        """Let a random one of the models lead each turn, or not."""
        with self._ports.changing:
            settings = self.server(server_id)
            if enabled and not _has_a_choice(settings):
                raise SettingsError(
                    f"server {server_id} has no primary model with a fallback to draw from;"
                    " set them with `turnkeeper model use` and `turnkeeper fallback set`"
                )
            return self._save_server(replace(settings, randomizer=enabled))

    def set_channel_model(
        self, server_id: str, channel_id: str, model: str | None
    ) -> ServerSettings:
        """Let another model lead in one channel and its threads; None takes that back."""
        with self._ports.changing:
            settings = self.server(server_id)
            chosen = None if model is None else self.find_model(model)
            models = paired(settings.channel_models, channel_id, chosen)
            return self._save_server(replace(settings, channel_models=models))

    def set_persona_model(
        self, server_id: str, persona_id: str, model: str | None
    ) -> ServerSettings:
        """Let another model lead where one persona answers; None takes that back."""
        with self._ports.changing:
            settings = self.server(server_id)
            chosen = None if model is None else self.find_model(model)
            models = paired(settings.persona_models, persona_id, chosen)
            return self._save_server(replace(settings, persona_models=models))

    def reset_server(self, server_id: str) -> ServerSettings:
        """Set nothing any more, as before the first change; keys and endpoints stay."""
        with self._ports.changing:
            version = self.server(server_id).version
            return self._save_server(ServerSettings(server_id=server_id, version=version))

    def _save_server(self, settings: ServerSettings) -> ServerSettings:
        randomizer = settings.randomizer and _has_a_choice(settings)
        self._ports.editor.save_server(
            replace(settings, randomizer=randomizer),
            primary=reference_of(settings.primary) if settings.primary else None,
            chain=tuple(reference_of(entry) for entry in settings.chain),
        )
        self._ports.known.forget(Owner.server(settings.server_id))
        return self.server(settings.server_id)


def _has_a_choice(settings: ServerSettings) -> bool:
    """Whether there is more than one model for the randomizer to draw from."""
    return settings.primary is not None and bool(settings.chain)
