"""From settings to attempts: pure, and nothing is asked of any provider."""

from collections.abc import Callable

from turnkeeper.domain.admission import CooldownType
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import UNSET, Endpoint, Limits, Model, Sampling
from turnkeeper.domain.occasion import QuotaSource
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.plan import (
    Attempt,
    BrokenEntry,
    EndpointEntry,
    FallbackEntry,
    Member,
    ModelEntry,
    ServerRoute,
    lead_with,
    pool,
)
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.domain.turn import TurnRequest

_OFF = CooldownType.OFF  # looking it up takes as long as a call

Below = Callable[[int], int]
"""A number from 0 to below the given one, at random."""


def goes_personal(request: TurnRequest, personal: PersonalSettings | None) -> bool:
    """Whether the user's own credentials pay; never for what the bot set off itself."""
    if personal is None or request.occasion.is_self_message:
        return False
    return personal.text_route is not None


def withheld(request: TurnRequest, personal: PersonalSettings) -> ServerRoute | None:
    """Why the server's models may not follow a personal plan, without asking the server.

    None where it is the server's to say.
    """
    if request.is_impersonation:
        return ServerRoute.IMPERSONATION
    return None if personal.server_fallback else ServerRoute.OPTED_OUT


def lends(server: ServerSettings) -> ServerRoute:
    """Whether the server lends its models to members who have keys of their own."""
    return ServerRoute.MEMBER_KEYS_ONLY if server.member_keys_only else ServerRoute.MAY_OPEN


def limits_turns(server: ServerSettings) -> bool:
    """Whether the server has a rule, cooldown or quota, that may refuse a turn its models."""
    return (
        server.cooldown.type is not _OFF
        or bool(server.channel_cooldowns)
        or server.quota.limits_anything
    )


def wants_own_keys(request: TurnRequest, server: ServerSettings) -> bool:
    """Whether a turn that is planned on the server's models should be on the member's own.

    What no member set off has nobody to bring keys.
    """
    if not server.member_keys_only or request.user_id is None:
        return False
    occasion = request.occasion
    return occasion.quota_source is QuotaSource.USER and not occasion.is_self_message


def personal_attempts(
    request: TurnRequest, personal: PersonalSettings, override: FallbackEntry | None, below: Below
) -> tuple[Attempt, ...]:
    """The attempts on the user's own credentials."""
    row, primary = personal.text_route, personal.primary
    owner = Owner.user(personal.user_id)
    if row is None or primary is None:
        return ()
    members = pool(override or primary, personal.chain)
    led = _randomized(members, row.randomizer, below)
    return _numbered(led, Route.PERSONAL, owner, lambda provider: row.sampling)


def server_attempts(
    request: TurnRequest,
    server: ServerSettings,
    override: FallbackEntry | None,
    below: Below,
) -> tuple[Attempt, ...]:
    """The attempts on the server's credentials."""
    primary = override or _server_primary(request, server)
    led = _randomized(pool(primary, server.chain), server.randomizer, below)
    saved = {row.provider: row.sampling for row in server.providers}

    def sampling(provider: str) -> Sampling:
        return saved.get(provider, UNSET).over(server.sampling)

    return _numbered(led, Route.SERVER, Owner.server(server.server_id), sampling)


def override_of(text: str | None, registered: Model | None) -> FallbackEntry | None:
    """What a request names in place of the lead: as registered, with its true limits, else by name.

    A text that names no model comes back broken, with its cause; the chain still follows it.
    """
    if text is None:
        return None
    if registered is not None:
        return ModelEntry(model=registered)
    if not is_a_name(text):
        return BrokenEntry(name="(unreadable)", cause="a model's name is printable text")
    try:
        return ModelEntry(model=Model.named(text))
    except ValueError as error:
        return BrokenEntry(name=text or "(empty)", cause=str(error))


def is_a_name(text: str) -> bool:
    """Whether a text can name a model at all."""
    return text.isprintable()


def _server_primary(request: TurnRequest, server: ServerSettings) -> FallbackEntry:
    """The persona's model, else the channel's (a thread inherits its parent's), else its own."""
    personas, channels = dict(server.persona_models), dict(server.channel_models)
    own = server.primary or BrokenEntry(
        name="(none)",
        cause=f"server {server.server_id} has no model; set one with `turnkeeper model use`",
    )
    if request.is_impersonation:
        return own
    model = (
        personas.get(request.persona.id)
        or channels.get(request.channel_id)
        or channels.get(request.parent_channel_id or "")
    )
    return ModelEntry(model=model) if model else own


def _randomized(members: tuple[Member, ...], enabled: bool, below: Below) -> tuple[Member, ...]:
    if not enabled or len(members) < 2:
        return members
    return lead_with(members, below(len(members)))


def _numbered(
    members: tuple[Member, ...],
    route: Route,
    owner: Owner,
    sampling: Callable[[str], Sampling],
) -> tuple[Attempt, ...]:
    return tuple(
        _attempt(member, route, owner, number, sampling) for number, member in enumerate(members)
    )


def _attempt(
    member: Member, route: Route, owner: Owner, number: int, sampling: Callable[[str], Sampling]
) -> Attempt:
    model, endpoint, cause = _model_of(member.entry)
    if isinstance(member.entry, EndpointEntry):
        owner = member.entry.owner
    return Attempt(
        number=number,
        label="primary" if number == 0 else f"fallback {number}: {model.name}",
        route=route,
        owner=owner,
        provider=model.provider,
        model=model,
        slot=member.slot,
        endpoint=endpoint,
        sampling=sampling(model.provider),
        cause=cause,
    )


def _model_of(entry: FallbackEntry) -> tuple[Model, Endpoint | None, str | None]:
    match entry:
        case ModelEntry(model=model):
            return model, None, None
        case EndpointEntry(endpoint=endpoint):
            return _endpoint_model(endpoint), endpoint, _endpoint_cause(endpoint)
        case BrokenEntry(name=name, cause=cause):
            return Model(id=name, provider="unknown", name=name), None, cause


def _endpoint_model(endpoint: Endpoint) -> Model:
    return Model(
        id=endpoint.model_id or f"endpoint:{endpoint.id}",
        provider=endpoint.provider,
        name=endpoint.model_name or endpoint.label,
        capabilities=endpoint.capabilities,
        limits=Limits(window_tokens=endpoint.num_ctx),
    )


def _endpoint_cause(endpoint: Endpoint) -> str | None:
    if endpoint.connection_id is None and endpoint.requires_auth:
        return f"endpoint {endpoint.label!r} has no connection, so it has no key; save it again"
    return None


def renumbered(attempts: tuple[Attempt, ...], start_no: int = 0) -> tuple[Attempt, ...]:
    """The same attempts with numbers in their order; labels that went by the number follow."""
    return tuple(
        replace(
            attempt,
            number=number,
            label="primary" if number == 0 else f"fallback {number}: {attempt.model.name}",
        )
        for number, attempt in enumerate(attempts, start=start_no)
    )
