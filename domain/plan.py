"""What a turn may try: its attempts in order, and whether the server's may follow."""

from enum import Enum

from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner, Route


@frozen
class ModelEntry:
    """A pool member that is a registered model."""

    model: Model


@frozen
class EndpointEntry:
    """A pool member that is a custom endpoint of some owner."""

    endpoint: Endpoint
    owner: Owner


@frozen
class BrokenEntry:
    """A reference that leads nowhere; it stays in the pool so that it is said.

    Attributes:
        name: What the reference names.
        cause: Why it cannot be used.
    """

    name: str
    cause: str


FallbackEntry = ModelEntry | EndpointEntry | BrokenEntry


@frozen
class Slot:
    """Where a pool member stood before any randomizing.

    Attributes:
        number: 1-based place in the chain; 1 for the route's own lead.
        is_lead: Whether it is the route's own primary.
    """

    number: int
    is_lead: bool


@frozen
class Attempt:
    """One model that the turn may try.

    Attributes:
        number: Its place in the turn's numbering, from 0; goes on over the server route.
        label: ``primary`` for number 0, else ``fallback N: name``.
        route: Whose credentials pay.
        owner: Who owns the key.
        provider: The provider whose key and dialect are used; ``custom:N`` for endpoints.
        model: The true model.
        endpoint: The custom endpoint, or None for a provider's own address.
        slot: Where it stands in its route's chain.
        sampling: What its requests set.
        cause: Why it cannot be prepared, or None. It stays in the plan so that it is said.
    """

    number: int
    label: str
    route: Route
    owner: Owner
    provider: str
    model: Model
    slot: Slot
    endpoint: Endpoint | None = None
    sampling: Sampling = Sampling()
    cause: str | None = None

    @property
    def needs_key(self) -> bool:
        """Whether a key has to be leased for it."""
        return self.endpoint is None or self.endpoint.requires_auth

    @property
    def rest_scope(self) -> "RestScope":
        """Which resting entry speaks of it."""
        place = self.endpoint.base_url if self.endpoint else self.provider
        return RestScope(owner=self.owner, place=place, model=self.model.name)


@frozen
class RestScope:
    """What rests when a model does: this model, at this place, for this owner."""

    owner: Owner
    place: str
    model: str


class ServerRoute(Enum):
    """Whether the server's models may follow the planned ones, or why not."""

    MAY_OPEN = "may open"
    NOT_APPLICABLE = "the turn is planned on the server route"
    MEMBER_KEYS_ONLY = "the server wants members to use their own keys"
    OPTED_OUT = "the account turned the server fallback off"
    IMPERSONATION = "a turn in somebody else's name stays on its route"


NONE_REST: frozenset[int] = frozenset()


@frozen
class Plan:
    """The attempts of the planned route, and whether the server route may still be asked.

    Attributes:
        route: The route that was planned.
        attempts: In the order in which they are tried.
        server_route: Whether the server's models may follow.
    """

    route: Route
    attempts: tuple[Attempt, ...] = ()
    server_route: ServerRoute = ServerRoute.NOT_APPLICABLE

    def __post_init__(self) -> None:
        numbers = [attempt.number for attempt in self.attempts]
        if numbers != list(range(len(numbers))):
            raise ValueError(f"attempts are numbered 0, 1, 2 …, not {numbers}")

    def resting(self, scopes: frozenset[RestScope]) -> frozenset[int]:
        """The numbers of the attempts whose model rests."""
        if not scopes:
            return NONE_REST
        return frozenset(one.number for one in self.attempts if one.rest_scope in scopes)

    def longer_by(self, attempts: tuple[Attempt, ...]) -> "Plan":
        """The plan with more attempts at its end."""
        return replace(self, attempts=self.attempts + attempts)


@frozen
class Member:
    """A pool member that remembers where it stood."""

    entry: FallbackEntry
    slot: Slot


def pool(primary: FallbackEntry, chain: tuple[FallbackEntry, ...]) -> tuple[Member, ...]:
    """The lead and its chain; whatever in the chain is the lead itself is left out."""
    lead = Member(entry=primary, slot=Slot(number=1, is_lead=True))
    rest = tuple(
        Member(entry=entry, slot=Slot(number=place, is_lead=False))
        for place, entry in enumerate(chain, start=1)
        if not same_model(primary, entry)
    )
    return (lead, *rest)


def lead_with(members: tuple[Member, ...], index: int) -> tuple[Member, ...]:
    """The same members with one moved to the front; the others keep their order."""
    return (members[index], *members[:index], *members[index + 1 :])


def same_model(one: FallbackEntry, other: FallbackEntry) -> bool:
    """Whether two entries are the same model, an endpoint bound to a model included."""
    return bool(_identities(one) & _identities(other))


def _identities(entry: FallbackEntry) -> set[str]:
    match entry:
        case ModelEntry(model=model):
            return {f"model {model.id}"}
        case EndpointEntry(endpoint=endpoint, owner=owner):
            bound = {f"model {endpoint.model_id}"} if endpoint.model_id else set()
            return {f"endpoint {owner} {endpoint.id}"} | bound
        case BrokenEntry():
            return set()
