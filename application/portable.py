"""What an owner has set, as one value that can leave the database: references are texts.

A model goes by its id, an endpoint as ``endpoint:ID``. There is no secret in it.
"""

from collections.abc import Iterable

from turnkeeper.application.configure_models import ENDPOINT, reference_of
from turnkeeper.domain.admission import CooldownRule, QuotaRule
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings


@frozen
class PortableChannel:
    """What is different in one channel; None is as everywhere."""

    id: str
    model: str | None = None
    cooldown: CooldownRule | None = None


@frozen
class PortablePersona:
    """The model with which one persona answers."""

    id: str
    model: str


@frozen
class PortableProvider:
    """What a server sets for one of its providers."""

    provider: str
    sampling: Sampling = Sampling()


@frozen
class PortableRow:
    """A user's own provider; see `domain.settings.SavedProvider`."""

    provider: str
    model: str | None = None
    endpoint: str | None = None
    text_enabled: bool = False
    randomizer: bool = False
    sampling: Sampling = Sampling()


@frozen
class PortableServer:
    """All that a server has set; see `domain.settings.ServerSettings`."""

    server: str
    primary: str | None = None
    fallbacks: tuple[str, ...] = ()
    randomizer: bool = False
    member_keys_only: bool = False
    content_filter: ContentFilterPolicy = ContentFilterPolicy.NEXT
    sampling: Sampling = Sampling()
    cooldown: CooldownRule = CooldownRule()
    quota: QuotaRule = QuotaRule()
    channels: tuple[PortableChannel, ...] = ()
    personas: tuple[PortablePersona, ...] = ()
    providers: tuple[PortableProvider, ...] = ()
    tools_off: tuple[str, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    models: tuple[Model, ...] = ()

    def __post_init__(self) -> None:
        Owner.server(self.server)  # so that its id is one

    @property
    def owner(self) -> Owner:
        """Whose settings they are."""
        return Owner.server(self.server)


@frozen
class PortableUser:
    """All that a user has set; see `domain.settings.PersonalSettings`."""

    user: str
    fallbacks: tuple[str, ...] = ()
    server_fallback: bool = True
    providers: tuple[PortableRow, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    models: tuple[Model, ...] = ()

    def __post_init__(self) -> None:
        Owner.user(self.user)  # so that the id is one

    @property
    def owner(self) -> Owner:
        """Whose settings they are."""
        return Owner.user(self.user)


Portable = PortableServer | PortableUser


def portable_server(settings: ServerSettings, endpoints: tuple[Endpoint, ...]) -> PortableServer:
    """A server's settings with references for its models; none of these is described in it."""
    return PortableServer(
        server=settings.server_id,
        primary=written(settings.primary) if settings.primary else None,
        fallbacks=tuple(map(written, settings.chain)),
        randomizer=settings.randomizer,
        member_keys_only=settings.member_keys_only,
        content_filter=settings.content_filter,
        sampling=settings.sampling,
        cooldown=settings.cooldown,
        quota=settings.quota,
        channels=_channels(settings),
        personas=tuple(
            PortablePersona(id=name, model=model.id) for name, model in settings.persona_models
        ),
        providers=tuple(
            PortableProvider(provider=row.provider, sampling=row.sampling)
            for row in settings.providers
        ),
        tools_off=settings.tools_off,
        endpoints=endpoints,
    )


def portable_user(settings: PersonalSettings, endpoints: tuple[Endpoint, ...]) -> PortableUser:
    """A user's settings with references for the models; none of these is described in it."""
    return PortableUser(
        user=settings.user_id,
        fallbacks=tuple(map(written, settings.chain)),
        server_fallback=settings.server_fallback,
        providers=tuple(map(_row, settings.providers)),
        endpoints=endpoints,
    )


def written(entry: FallbackEntry) -> str:
    """The text by which people refer to a model or an endpoint."""
    ref = reference_of(entry)
    return ref.id if ref.kind == "model" else f"{ENDPOINT}{ref.id}"


def without_broken(
    settings: ServerSettings | PersonalSettings,
) -> tuple[ServerSettings | PersonalSettings, tuple[BrokenEntry, ...]]:
    """The settings without references that lead nowhere, and these."""
    chain = tuple(entry for entry in settings.chain if not isinstance(entry, BrokenEntry))
    broken = [entry for entry in settings.chain if isinstance(entry, BrokenEntry)]
    whole = replace(settings, chain=chain)
    if isinstance(whole, ServerSettings) and isinstance(whole.primary, BrokenEntry):
        broken.insert(0, whole.primary)
        whole = replace(whole, primary=None)
    if isinstance(whole, ServerSettings) and not (whole.primary and whole.chain):
        whole = replace(whole, randomizer=False)
    return whole, tuple(broken)


def models_of(settings: ServerSettings | PersonalSettings) -> tuple[Model, ...]:
    """The models that the settings refer to, by id."""
    entries = list(settings.chain)
    models = [row.model for row in settings.providers if row.model]
    if isinstance(settings, ServerSettings):
        entries += [settings.primary] if settings.primary else []
        models += [model for _, model in (*settings.persona_models, *settings.channel_models)]
    models += [entry.model for entry in entries if isinstance(entry, ModelEntry)]
    by_id = {model.id: model for model in models}
    return tuple(by_id[name] for name in sorted(by_id))


def renumbered(portable: Portable, numbers: dict[int, int]) -> Portable:
    """The same with other numbers for the endpoints, which must all be in `numbers`."""
    endpoints = tuple(replace(one, id=numbers[one.id]) for one in portable.endpoints)
    names = {f"{ENDPOINT}{old}": f"{ENDPOINT}{new}" for old, new in numbers.items()}

    def moved(text: str) -> str:
        return names.get(text, text)

    chain = tuple(map(moved, portable.fallbacks))
    if isinstance(portable, PortableServer):
        primary = moved(portable.primary) if portable.primary else None
        return replace(portable, primary=primary, fallbacks=chain, endpoints=endpoints)
    rows = tuple(
        replace(row, endpoint=moved(row.endpoint) if row.endpoint else None)
        for row in portable.providers
    )
    return replace(portable, fallbacks=chain, providers=rows, endpoints=endpoints)


def counted(portable: Portable) -> Portable:
    """The same with endpoints numbered 1, 2, 3 …: nothing of this database is left in it."""
    return renumbered(portable, _ranks(one.id for one in portable.endpoints))


def _ranks(ids: Iterable[int]) -> dict[int, int]:
    return {number: rank for rank, number in enumerate(ids, start=1)}


def _channels(settings: ServerSettings) -> tuple[PortableChannel, ...]:
    models, cooldowns = dict(settings.channel_models), dict(settings.channel_cooldowns)
    return tuple(
        PortableChannel(
            id=name,
            model=models[name].id if name in models else None,
            cooldown=cooldowns.get(name),
        )
        for name in sorted({*models, *cooldowns})
    )


def _row(row: SavedProvider) -> PortableRow:
    return PortableRow(
        provider=row.provider,
        model=row.model.id if row.model else None,
        endpoint=f"{ENDPOINT}{row.endpoint.id}" if row.endpoint else None,
        text_enabled=row.text_enabled,
        randomizer=row.randomizer,
        sampling=row.sampling,
    )
