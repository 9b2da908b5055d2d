"""Which models there are, and how people refer to models and endpoints."""

from collections.abc import Iterable
from dataclasses import field
from difflib import get_close_matches
from threading import RLock
from typing import TypeVar
from urllib.parse import urlsplit

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.ports.key_ring import KeyVault
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import (
    BrokenEntry,
    EndpointEntry,
    FallbackEntry,
    ModelEntry,
    same_model,
)
from turnkeeper.domain.settings import FallbackRef

T = TypeVar("T")

ENDPOINT = "endpoint:"
"""How a reference to an endpoint begins; its number follows."""
RANGES = (
    ("temperature", 0.0, 2.0),
    ("top_p", 0.0, 1.0),
    ("min_p", 0.0, 1.0),
    ("top_k", 0, 1_000_000),
    ("frequency_penalty", -2.0, 2.0),
    ("presence_penalty", -2.0, 2.0),
    ("max_output_tokens", 1, 10_000_000),
)
MOST_BIAS = 100.0


@frozen
class ConfigurePorts:
    """What configuring needs.

    Attributes:
        store: Reads what is set.
        editor: Writes it.
        keys: Saves keys.
        providers: Which providers there are.
        known: Settings that running turns remember.
        changing: Held while settings are read, changed and written, so that two changes in this
            process do not undo each other.
    """

    store: SettingsStore
    editor: SettingsEditor
    keys: KeyVault
    providers: Providers
    known: KnownSettings
    changing: RLock = field(default_factory=RLock)


class ConfigureModels:
    """Registers models, and finds models and endpoints by what people call them."""

    def __init__(self, ports: ConfigurePorts) -> None:
        self._ports = ports

    def register_model(self, model: Model | str) -> Model:
        """Register a model, or replace the one of the same id; a price that was set stays.

        Args:
            model: ``provider:name`` where nothing else is known about it.
        """
        try:
            made = Model.named(model) if isinstance(model, str) else model
        except ValueError as error:
            raise SettingsError(str(error)) from None
        made = _known_as(made, self.find_provider(made.provider))
        if made.price_in_per_mtok is None and made.price_out_per_mtok is None:
            made = self._at_its_price(made)
        self._ports.editor.save_model(made)
        return made

    def _at_its_price(self, model: Model) -> Model:
        known = self._ports.store.find_model(model.id)
        if known is None or known.id != model.id:
            return model
        return replace(
            model,
            price_in_per_mtok=known.price_in_per_mtok,
            price_out_per_mtok=known.price_out_per_mtok,
        )

    def models(self) -> tuple[Model, ...]:
        """All registered models, by id."""
        return self._ports.editor.models()

    def endpoints(self, owner: Owner) -> tuple[Endpoint, ...]:
        """The owner's endpoints, by id."""
        return self._ports.editor.endpoints(owner)

    def find_provider(self, provider: str) -> str:
        """The name under which a provider's keys are kept, if there is such a provider."""
        return self._ports.providers.canonical(provider)

    def find_model(self, text: str) -> Model:
        """The registered model of that id or unambiguous name."""
        found = self._ports.store.find_model(text)
        if found is None:
            raise SettingsError(self._unknown(text))
        return found

    def _entry(self, owner: Owner, text: str) -> FallbackEntry:
        """What a text refers to: a registered model, or ``endpoint:ID`` of this owner."""
        if not text.startswith(ENDPOINT):
            return ModelEntry(model=self.find_model(text))
        endpoints = self.endpoints(owner)
        for endpoint in endpoints:
            if text == f"{ENDPOINT}{endpoint.id}":
                return EndpointEntry(endpoint=endpoint, owner=owner)
        known = ", ".join(f"{ENDPOINT}{one.id} ({one.label})" for one in endpoints) or "none"
        raise SettingsError(f"{owner} has no {text!r}; there are: {known}")

    def _unknown(self, text: str) -> str:
        models = self.models()
        names = {name: model.id for model in models for name in (model.name, model.id)}
        near = get_close_matches(text, names, n=6, cutoff=0.4)
        meant = tuple(dict.fromkeys(names[name] for name in near))
        if meant:
            return f"no model {text!r} is registered, or several are; near are: {', '.join(meant)}"
        return f"no model {text!r} is registered; register it with `turnkeeper model add {text}`"


def reference_of(entry: FallbackEntry) -> FallbackRef:
    """The stored form of an entry."""
    match entry:
        case ModelEntry(model=model):
            return FallbackRef(kind="model", id=model.id)
        case EndpointEntry(endpoint=endpoint):
            return FallbackRef(kind="custom_endpoint", id=str(endpoint.id))
        case BrokenEntry(name=name) if name.startswith(ENDPOINT):
            return FallbackRef(kind="custom_endpoint", id=name.removeprefix(ENDPOINT))
        case BrokenEntry(name=name):
            return FallbackRef(kind="model", id=name)


def merged(entries: Iterable[FallbackEntry]) -> tuple[FallbackEntry, ...]:
    """The entries in their order, each reference once."""
    return tuple({reference_of(entry): entry for entry in entries}.values())


def without_same(
    primary: FallbackEntry, chain: tuple[FallbackEntry, ...]
) -> tuple[FallbackEntry, ...]:
    """The chain without whatever is the primary model itself."""
    return tuple(entry for entry in chain if not same_model(primary, entry))


def sound(sampling: Sampling) -> Sampling:
    """The sampling, if a request can be made of it.

    Raises:
        SettingsError: A value is out of its range.
    """
    for name, low, high in RANGES:
        value = getattr(sampling, name)
        if value is not None and not low <= value <= high:
            raise SettingsError(f"{name} is {low:g} to {high:g}, not {value}")
    for token, bias in sampling.logit_bias:
        if not -MOST_BIAS <= bias <= MOST_BIAS:
            raise SettingsError(
                f"the logit_bias of token {token!r} is {-MOST_BIAS:g} to {MOST_BIAS:g}, not {bias}"
            )
    return sampling


def sound_endpoint(endpoint: Endpoint) -> Endpoint:
    """The endpoint, if a request can be sent to it and its address holds no secret.

    Raises:
        SettingsError: What would have to be different.
    """
    for name in ("connection_id", "num_ctx"):
        value = getattr(endpoint, name)
        if value is not None and value < 1:
            raise SettingsError(f"{name} of an endpoint is at least 1, not {value}")
    if not endpoint.label.strip():
        raise SettingsError(f"the label of an endpoint is its name, not {endpoint.label!r}")
    _check_address(endpoint.base_url)
    return endpoint


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise SettingsError("the address of an endpoint cannot be parsed") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError("the address of an endpoint begins with https:// or http:// and a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(
            "the address of an endpoint has no user name, password, ? or # in it;"
            " save its key with `turnkeeper key add custom:N`"
        )


def paired(
    pairs: tuple[tuple[str, T], ...], name: str, value: T | None
) -> tuple[tuple[str, T], ...]:
    """The pairs with one of them changed; None takes it out."""
    others = tuple(pair for pair in pairs if pair[0] != name)
    return others if value is None else (*others, (name, value))


def _known_as(model: Model, provider: str) -> Model:
    """The model under its provider's own name, if an alias was given."""
    by_name = model.id == f"{model.provider}:{model.name}"
    return replace(model, provider=provider, id=f"{provider}:{model.name}" if by_name else model.id)
