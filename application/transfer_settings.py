"""An owner's settings out of one database and into another."""

from turnkeeper.application.configure_changes import ConfigureChanges
from turnkeeper.application.configure_models import reference_of
from turnkeeper.application.portable import (
    Portable,
    counted,
    models_of,
    portable_server,
    portable_user,
    renumbered,
    without_broken,
)
from turnkeeper.application.portable_changes import Change, changes
from turnkeeper.application.ports.settings_editor import WholeOwner
from turnkeeper.application.read_portable import ReadPortable
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.settings import PersonalSettings, ServerSettings


@frozen
class Exported:
    """What was taken out.

    Attributes:
        settings: What the owner has set, with endpoints numbered from 1.
        left_out: References that lead nowhere, which nobody could read again.
    """

    settings: Portable
    left_out: tuple[BrokenEntry, ...] = ()


@frozen
class Imported:
    """What was put in, or would be.

    Attributes:
        owner: Whose settings they are now.
        changes: What is different.
        new_models: Models that were registered with them.
        kept_models: Models that are registered otherwise here, and stay as they are here.
        missing_keys: Providers of which the settings make use and the owner has no key.
    """

    owner: Owner
    changes: tuple[Change, ...] = ()
    new_models: tuple[str, ...] = ()
    kept_models: tuple[str, ...] = ()
    missing_keys: tuple[str, ...] = ()


class TransferSettings(ConfigureChanges):
    """Exports and imports settings; keys are never among them."""

    def shown(self, owner: Owner) -> Portable:
        """All that an owner has set, with its own numbers and whatever is broken."""
        return _portable(self.settings_of(owner), self.endpoints(owner))

    def broken(self, owner: Owner) -> tuple[BrokenEntry, ...]:
        """The owner's references that lead nowhere."""
        return without_broken(self.settings_of(owner))[1]

    def export_settings(self, owner: Owner) -> Exported:
        """Take an owner's settings out, with the models that they refer to."""
        endpoints = self.endpoints(owner)
        settings, broken = without_broken(self.settings_of(owner))
        bound = {one.model_id for one in endpoints}
        used = {model.id for model in models_of(settings)}
        models = tuple(one for one in self.models() if one.id in used | bound)
        whole = replace(counted(_portable(settings, endpoints)), models=models)
        return Exported(settings=whole, left_out=broken)

    def import_settings(self, portable: Portable, *, dry_run: bool = False) -> Imported:
        """Put settings in the place of all that their owner has set; keys stay.

        Endpoints are told apart by their labels: one that stays keeps its number.

        Args:
            dry_run: Whether it is only said what would change.

        Raises:
            SettingsError: Something in it is unknown or broken; all of it is named, and nothing
                was changed.
        """
        owner = portable.owner
        with self._ports.changing:
            before = self.settings_of(owner)
            there = self.endpoints(owner)
            registered = {model.id: model for model in self.models()}
            new = tuple(model for model in portable.models if model.id not in registered)
            read = ReadPortable(
                models={model.id: model for model in new} | registered,
                find_provider=self.find_provider,
            )
            settings, numbered = read(portable), portable
            if not dry_run:
                numbered = renumbered(portable, self._numbers(portable.endpoints, there))
                settings = replace(read(numbered), version=before.version)
                self._ports.editor.replace_owner(_whole(settings, numbered.endpoints, new))
                self._ports.known.forget(owner)
            kept = [one for one in portable.models if registered.get(one.id, one) != one]
            return Imported(
                owner=owner,
                changes=changes(_portable(before, there), numbered),
                new_models=tuple(model.id for model in new),
                kept_models=tuple(model.id for model in kept),
                missing_keys=self.missing_keys(settings),
            )

    def missing_keys(self, settings: ServerSettings | PersonalSettings) -> tuple[str, ...]:
        """The providers that the owner's turns ask and for which the owner has no key in use."""
        owner = (
            Owner.server(settings.server_id)
            if isinstance(settings, ServerSettings)
            else Owner.user(settings.user_id)
        )
        has = {one.provider for one in self._ports.keys.keys(owner) if one.key.enabled}
        return tuple(sorted(_asked(settings) - has))

    def _numbers(
        self, endpoints: tuple[Endpoint, ...], there: tuple[Endpoint, ...]
    ) -> dict[int, int]:
        """Which number each endpoint gets: that of the next one of its label, else a new one."""
        left = list(there)
        numbers: dict[int, int] = {}
        for endpoint in endpoints:
            same = next((one for one in left if one.label == endpoint.label), None)
            if same is not None:
                left.remove(same)
            numbers[endpoint.id] = same.id if same else self._ports.editor.new_endpoint_id()
        return numbers


def _portable(
    settings: ServerSettings | PersonalSettings, endpoints: tuple[Endpoint, ...]
) -> Portable:
    if isinstance(settings, ServerSettings):
        return portable_server(settings, endpoints)
    return portable_user(settings, endpoints)


def _whole(
    settings: ServerSettings | PersonalSettings,
    endpoints: tuple[Endpoint, ...],
    models: tuple[Model, ...],
) -> WholeOwner:
    primary = settings.primary if isinstance(settings, ServerSettings) else None
    return WholeOwner(
        settings=settings,
        primary=reference_of(primary) if primary else None,
        chain=tuple(map(reference_of, settings.chain)),
        endpoints=endpoints,
        models=models,
    )


def _asked(settings: ServerSettings | PersonalSettings) -> set[str]:
    """The providers whose keys the owner's turns need."""
    entries: list[FallbackEntry] = list(settings.chain)
    entries += [settings.primary] if settings.primary else []
    if isinstance(settings, ServerSettings):
        pairs = (*settings.persona_models, *settings.channel_models)
        entries += [ModelEntry(model=model) for _, model in pairs]
    return {provider for entry in entries if (provider := _key_of(entry)) is not None}


def _key_of(entry: FallbackEntry) -> str | None:
    match entry:
        case ModelEntry(model=model):
            return model.provider
        case EndpointEntry(endpoint=endpoint) if endpoint.requires_auth:
            return endpoint.provider
        case _:
            return None
