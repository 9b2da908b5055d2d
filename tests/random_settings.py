"""Settings of servers and users as they may come, with the models and endpoints they refer to."""

from dataclasses import dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st

from turnkeeper.application.configure_models import merged, reference_of, without_same
from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings

T = TypeVar("T")
PROVIDERS = ("anthropic", "groq", "openai", "openrouter")
CHANNELS = ("77", "a.b", "")
PERSONAS = ("zoe", 'the "other"', "a.b")

# Postgres takes no NUL in a text.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
names = texts.filter(lambda text: bool(text) and not text.startswith("endpoint:"))
maybe_tokens = st.none() | st.integers(1, 2**50)


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)


capabilities = st.builds(
    Capabilities, **{name: st.booleans() for name in Capabilities.__dataclass_fields__}
)
samplings = st.builds(
    Sampling,
    temperature=st.none() | floats(0, 2),
    top_p=st.none() | floats(0, 1),
    top_k=st.none() | st.integers(0, 1_000_000),
    min_p=st.none() | floats(0, 1),
    frequency_penalty=st.none() | floats(-2, 2),
    presence_penalty=st.none() | floats(-2, 2),
    stop=st.lists(texts, max_size=3).map(tuple),
    logit_bias=st.lists(st.tuples(texts, floats(-100, 100)), max_size=3).map(tuple),
    reasoning_effort=st.none() | st.sampled_from(["low", "none"]) | texts,
    max_output_tokens=st.none() | st.integers(1, 10_000_000),
    disabled=st.frozensets(texts, max_size=3),
)
cooldowns = st.builds(
    CooldownRule, type=st.sampled_from(CooldownType), length_s=st.integers(1, 86_400)
)
quotas = st.builds(
    QuotaRule,
    enabled=st.booleans(),
    daily_per_user=st.integers(0, 100),
    server_wide=st.integers(0, 99_999),
    period_days=st.integers(1, 365),
)
models = st.builds(
    Model,
    id=names,
    provider=st.sampled_from(PROVIDERS),
    name=names,
    capabilities=capabilities,
    limits=st.builds(Limits, window_tokens=maybe_tokens, max_output_tokens=maybe_tokens),
    price_in_per_mtok=st.none() | floats(0, 1e6),
    price_out_per_mtok=st.none() | floats(0, 1e6),
)
endpoints = st.builds(
    Endpoint,
    id=st.just(0),
    connection_id=st.none() | st.integers(1, 3),
    label=st.sampled_from(["den", "attic"]) | names.filter(str.strip),
    base_url=st.sampled_from(["https://host/v1", "http://[::1]:8000/v1"]),
    model_name=st.none() | names,
    requires_auth=st.booleans(),
    trusted=st.booleans(),
    num_ctx=maybe_tokens,
    capabilities=capabilities,
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be written; the entries of endpoints go by their places, from 1."""

    settings: ServerSettings | PersonalSettings
    models: tuple[Model, ...]
    endpoints: tuple[Endpoint, ...]

    def write(self, editor: SettingsEditor, owner: Owner) -> None:
        """Write it as small changes do, one after the other."""
        for model in self.models:
            editor.save_model(model)
        new = tuple(replace(one, id=0) for one in self.endpoints)
        for one in new[:1]:  # so that places and numbers differ
            editor.remove_endpoint(owner, editor.save_endpoint(owner, one).id)
        saved = tuple(editor.save_endpoint(owner, one) for one in new)

        def real(entry: FallbackEntry) -> FallbackEntry:
            if not isinstance(entry, EndpointEntry):
                return entry
            return EndpointEntry(endpoint=saved[entry.endpoint.id - 1], owner=owner)

        settings = self.settings
        chain = tuple(reference_of(real(entry)) for entry in settings.chain)
        if isinstance(settings, ServerSettings):
            primary = reference_of(real(settings.primary)) if settings.primary else None
            editor.save_server(settings, primary=primary, chain=chain)
            return
        rows = tuple(
            replace(row, endpoint=saved[row.endpoint.id - 1]) if row.endpoint else row
            for row in settings.providers
        )
        editor.save_personal(replace(settings, providers=rows), chain=chain)


@st.composite
def servers(draw: st.DrawFn, owner: Owner) -> Wanted:
    there, places = draw(_there())
    entries = _entries(owner, there, places)
    primary = draw(st.none() | st.sampled_from(entries))
    chain = merged(draw(st.lists(st.sampled_from(entries), max_size=5)))
    if primary is not None:
        chain = without_same(primary, chain)
    can_draw = primary is not None and bool(chain)
    settings = ServerSettings(
        server_id=owner.id,
        primary=primary,
        chain=chain,
        randomizer=can_draw and draw(st.booleans()),
        member_keys_only=draw(st.booleans()),
        content_filter=draw(st.sampled_from(ContentFilterPolicy)),
        sampling=draw(samplings),
        cooldown=draw(cooldowns),
        quota=draw(quotas),
        persona_models=draw(_pairs(PERSONAS, st.sampled_from(there))),
        channel_models=draw(_pairs(CHANNELS, st.sampled_from(there))),
        channel_cooldowns=draw(_pairs(CHANNELS, cooldowns)),
        providers=tuple(
            SavedProvider(provider=name, sampling=draw(samplings))
            for name in sorted(draw(st.sets(st.sampled_from(PROVIDERS), max_size=2)))
        ),
        tools_off=tuple(sorted(draw(st.sets(names, max_size=2)))),
    )
    return Wanted(settings=settings, models=there, endpoints=places)


@st.composite
def users(draw: st.DrawFn, owner: Owner) -> Wanted:
    there, places = draw(_there())
    by_provider: dict[str, SavedProvider] = {}
    for entry in draw(st.lists(st.sampled_from(_entries(owner, there, places)), max_size=3)):
        row = SavedProvider(
            provider=_provider(entry), randomizer=draw(st.booleans()), sampling=draw(samplings)
        )
        if isinstance(entry, EndpointEntry):
            row = replace(row, endpoint=entry.endpoint)
        elif isinstance(entry, ModelEntry) and draw(st.booleans()):
            row = replace(row, model=entry.model)
        by_provider[row.provider] = row
    text = draw(st.none() | st.sampled_from(sorted(by_provider))) if by_provider else None
    rows = tuple(
        replace(by_provider[name], text_enabled=name == text) for name in sorted(by_provider)
    )
    settings = PersonalSettings(
        user_id=owner.id, providers=rows, server_fallback=draw(st.booleans())
    )
    chain = merged(draw(st.lists(st.sampled_from(_entries(owner, there, places)), max_size=5)))
    primary = settings.primary
    if primary is not None:
        chain = without_same(primary, chain)
    return Wanted(settings=replace(settings, chain=chain), models=there, endpoints=places)


@st.composite
def _there(draw: st.DrawFn) -> tuple[tuple[Model, ...], tuple[Endpoint, ...]]:
    """Some models, at least one, and some endpoints, of which some stand for one of the models."""
    there = draw(st.lists(models, min_size=1, max_size=4, unique_by=lambda model: model.id))
    places = draw(st.lists(endpoints, max_size=3))
    bound = st.none() | st.sampled_from(there).map(lambda model: model.id)
    return tuple(there), tuple(
        replace(one, id=number, model_id=draw(bound)) for number, one in enumerate(places, start=1)
    )


def _entries(
    owner: Owner, there: tuple[Model, ...], places: tuple[Endpoint, ...]
) -> list[FallbackEntry]:
    mine = [EndpointEntry(endpoint=one, owner=owner) for one in places]
    return [*(ModelEntry(model=model) for model in there), *mine]


def _pairs(
    names: tuple[str, ...], values: st.SearchStrategy[T]
) -> st.SearchStrategy[tuple[tuple[str, T], ...]]:
    pairs = st.lists(
        st.tuples(st.sampled_from(names), values), max_size=3, unique_by=lambda pair: pair[0]
    )
    return pairs.map(tuple)


def _provider(entry: FallbackEntry) -> str:
    if isinstance(entry, EndpointEntry):
        return entry.endpoint.provider
    assert isinstance(entry, ModelEntry)
    return entry.model.provider
