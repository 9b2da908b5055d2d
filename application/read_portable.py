"""From references to what they stand for; where it is not sound, all that is not is named."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from turnkeeper.application.configure_models import (
    ENDPOINT,
    merged,
    sound,
    sound_endpoint,
    without_same,
)
from turnkeeper.application.configure_prices import HIGHEST
from turnkeeper.application.portable import (
    Portable,
    PortableProvider,
    PortableRow,
    PortableServer,
    PortableUser,
)
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings

Row = TypeVar("Row", PortableProvider, PortableRow)
MOST_NAMED = 20


class ReadPortable:
    """Reads one value; what is wrong with it is collected under its places.

    Args:
        models: Those that may be referred to, by id.
        find_provider: The name under which a provider is known; raises `SettingsError`.
    """

    def __init__(self, *, models: Mapping[str, Model], find_provider: Callable[[str], str]) -> None:
        self._models = models
        self._find_provider = find_provider
        self._problems: list[str] = []
        self._endpoints: dict[str, Endpoint] = {}

    def __call__(self, portable: Portable) -> ServerSettings | PersonalSettings:
        """The settings that it stands for.

        Raises:
            SettingsError: What is unknown or broken, each with its place.
        """
        self._problems = []
        self._endpoints = self._checked_endpoints(portable.endpoints)
        for number, model in enumerate(portable.models):
            place = f"models[{number}].provider"
            known = self._provider(place, model.provider)
            if known != model.provider:
                self._wrong(place, f"{model.provider} is written {known}")
            for name in ("price_in_per_mtok", "price_out_per_mtok"):
                amount = getattr(model, name)
                if amount is not None and not 0 <= amount <= HIGHEST:
                    what = f"it is 0 to {HIGHEST} US dollars, not {amount}"
                    self._wrong(f"models[{number}].{name}", what)
        self._no_doubles("models", (one.id for one in portable.models))
        settings = (
            self._server(portable) if isinstance(portable, PortableServer) else self._user(portable)
        )
        if self._problems:
            more = len(self._problems) - MOST_NAMED
            named = "; ".join(self._problems[:MOST_NAMED])
            raise SettingsError(named + (f"; and {more} more" if more > 0 else ""))
        return settings

    def _wrong(self, place: str, what: str) -> None:
        self._problems.append(f"{place}: {what}")

    # ── servers and users ───────────────────────────────────────────────────────────────────

    def _server(self, portable: PortableServer) -> ServerSettings:
        owner = portable.owner
        primary = self._entry("primary", owner, portable.primary) if portable.primary else None
        chain = self._chain(owner, portable.fallbacks, primary)
        if portable.randomizer and not (portable.primary and portable.fallbacks):
            self._wrong("randomizer", "it needs a primary model with a fallback to draw from")
        self._no_doubles("channels", (one.id for one in portable.channels))
        self._no_doubles("personas", (one.id for one in portable.personas))
        channel_models = tuple(
            (one.id, self._model(f"channels[{number}].model", one.model))
            for number, one in enumerate(portable.channels)
            if one.model is not None
        )
        persona_models = tuple(
            (one.id, self._model(f"personas[{number}].model", one.model))
            for number, one in enumerate(portable.personas)
        )
        return ServerSettings(
            server_id=portable.server,
            primary=primary,
            chain=chain,
            randomizer=portable.randomizer,
            member_keys_only=portable.member_keys_only,
            content_filter=portable.content_filter,
            sampling=self._sampling("sampling", portable.sampling),
            cooldown=portable.cooldown,
            quota=portable.quota,
            persona_models=_found(persona_models),
            channel_models=_found(channel_models),
            channel_cooldowns=tuple(
                (one.id, one.cooldown) for one in portable.channels if one.cooldown is not None
            ),
            providers=tuple(
                SavedProvider(provider=name, sampling=self._sampling(place, row.sampling))
                for place, name, row in self._rows(portable.providers)
            ),
            tools_off=tuple(sorted(set(portable.tools_off))),
        )

    def _user(self, portable: PortableUser) -> PersonalSettings:
        owner = portable.owner
        rows = tuple(
            self._row(place, name, row) for place, name, row in self._rows(portable.providers)
        )
        if sum(row.text_enabled for row in rows) > 1:
            self._wrong("providers", "text_enabled is true for one of them at most")
        settings = PersonalSettings(
            user_id=portable.user, providers=rows, server_fallback=portable.server_fallback
        )
        return replace(settings, chain=self._chain(owner, portable.fallbacks, settings.primary))

    def _row(self, place: str, name: str, row: PortableRow) -> SavedProvider:
        model = self._model(f"{place}.model", row.model) if row.model is not None else None
        endpoint = None
        if row.endpoint is not None:
            endpoint = self._endpoint(f"{place}.endpoint", row.endpoint)
            if endpoint is not None and endpoint.provider != name:
                self._wrong(f"{place}.endpoint", f"{row.endpoint} is not one of {name}")
        elif model is not None and model.provider != name:
            self._wrong(f"{place}.model", f"{row.model} is not a model of {name}")
        return SavedProvider(
            provider=name,
            model=model,
            endpoint=endpoint,
            text_enabled=row.text_enabled,
            randomizer=row.randomizer,
            sampling=self._sampling(place, row.sampling),
        )

    def _rows(self, rows: tuple[Row, ...]) -> list[tuple[str, str, Row]]:
        """Each row with its place and its provider's name, by that name."""
        named = [
            (
                f"providers[{number}]",
                self._provider(f"providers[{number}].provider", row.provider),
                row,
            )
            for number, row in enumerate(rows)
        ]
        self._no_doubles("providers", (name for _, name, _ in named))
        return sorted(named, key=lambda one: one[1])

    # ── what is referred to ─────────────────────────────────────────────────────────────────

    def _chain(
        self, owner: Owner, names: tuple[str, ...], primary: FallbackEntry | None
    ) -> tuple[FallbackEntry, ...]:
        entries = [
            self._entry(f"fallbacks[{number}]", owner, name) for number, name in enumerate(names)
        ]
        chain = merged(entry for entry in entries if entry is not None)
        if primary and without_same(primary, chain) != chain:
            self._wrong("fallbacks", "the primary model cannot be its own fallback")
        return chain

    def _entry(self, place: str, owner: Owner, text: str) -> FallbackEntry | None:
        if text.startswith(ENDPOINT):
            endpoint = self._endpoint(place, text)
            return EndpointEntry(endpoint=endpoint, owner=owner) if endpoint else None
        model = self._model(place, text)
        return ModelEntry(model=model) if model else None

    def _model(self, place: str, text: str) -> Model | None:
        found = self._models.get(text)
        if found is None:
            self._wrong(place, f"no model {text!r} is described in it or registered here")
        return found

    def _endpoint(self, place: str, text: str) -> Endpoint | None:
        found = self._endpoints.get(text)
        if found is None:
            known = ", ".join(self._endpoints) or "none"
            self._wrong(place, f"it has no {text!r}; there are: {known}")
        return found

    def _checked_endpoints(self, endpoints: tuple[Endpoint, ...]) -> dict[str, Endpoint]:
        """The endpoints by what refers to them."""
        self._no_doubles("endpoints", (str(one.id) for one in endpoints))
        for number, one in enumerate(endpoints):
            try:
                sound_endpoint(one)
            except SettingsError as error:
                self._wrong(f"endpoints[{number}]", str(error))
        return {f"{ENDPOINT}{one.id}": one for one in endpoints}

    def _provider(self, place: str, name: str) -> str:
        try:
            return self._find_provider(name)
        except SettingsError as error:
            self._wrong(place, str(error))
            return name

    def _sampling(self, place: str, sampling: Sampling) -> Sampling:
        try:
            return sound(sampling)
        except SettingsError as error:
            self._wrong(place, str(error))
            return sampling

    def _no_doubles(self, place: str, names: Iterable[str]) -> None:
        listed = list(names)
        for name in sorted({one for one in listed if listed.count(one) > 1}):
            self._wrong(place, f"{name!r} is there twice")


def _found(pairs: Iterable[tuple[str, Model | None]]) -> tuple[tuple[str, Model], ...]:
    return tuple((name, model) for name, model in pairs if model is not None)
