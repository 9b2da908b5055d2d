"""What servers and users have set: which models, in which order, under which rules."""

from turnkeeper.domain.admission import CooldownRule, QuotaRule
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.model import Endpoint, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy


@frozen
class FallbackRef:
    """A stored reference to a chain entry.

    Attributes:
        kind: ``model`` or ``custom_endpoint``.
        id: The model's id, or the endpoint's number as text.
    """

    kind: str
    id: str

    def __post_init__(self) -> None:
        if self.kind not in {"model", "custom_endpoint"}:
            raise ValueError(f"a fallback is a model or a custom_endpoint, not {self.kind!r}")


@frozen
class SavedProvider:
    """What an owner saved for one provider, its key aside.

    Attributes:
        provider: Its name.
        sampling: What its requests set; overrides the owner's general settings.
        model: Personal rows only: the text model, or None if none is configured (any more).
        endpoint: Personal rows of ``custom:N`` only: the endpoint that answers, or None.
        text_enabled: Personal rows only: whether it is used for text.
        randomizer: Personal rows only: the user's own randomizer preference.
    """

    provider: str
    sampling: Sampling = Sampling()
    model: Model | None = None
    endpoint: Endpoint | None = None
    text_enabled: bool = False
    randomizer: bool = False

    @property
    def is_text_route(self) -> bool:
        """Whether it makes the user's turns personal: enabled, and with a model."""
        return self.text_enabled and (self.model is not None or self.endpoint is not None)


@frozen
class ServerSettings:
    """All that a server has set.

    Attributes:
        server_id: Which server.
        version: Rises with every change.
        primary: Its primary model or endpoint, or None if none is set.
        chain: Its fallbacks, in order.
        randomizer: Whether a random pool member leads each turn.
        member_keys_only: Whether members must bring their own keys (user_byok_mode).
        content_filter: What is done when a provider refuses the content.
        sampling: What its requests set.
        cooldown: Its message cooldown.
        quota: Its text quota.
        persona_models: Pairs of persona id and the model that persona uses.
        channel_models: Pairs of channel id and the model used there.
        channel_cooldowns: Pairs of channel id and the cooldown that replaces the server's.
        providers: What it saved for its providers.
        tools_off: The tools that no model may call where the server's models may answer, by name.
    """

    server_id: str
    version: int = 0
    primary: FallbackEntry | None = None
    chain: tuple[FallbackEntry, ...] = ()
    randomizer: bool = False
    member_keys_only: bool = False
    content_filter: ContentFilterPolicy = ContentFilterPolicy.NEXT
    sampling: Sampling = Sampling()
    cooldown: CooldownRule = CooldownRule()
    quota: QuotaRule = QuotaRule()
    persona_models: tuple[tuple[str, Model], ...] = ()
    channel_models: tuple[tuple[str, Model], ...] = ()
    channel_cooldowns: tuple[tuple[str, CooldownRule], ...] = ()
    providers: tuple[SavedProvider, ...] = ()
    tools_off: tuple[str, ...] = ()


@frozen
class PersonalSettings:
    """All that a user has set.

    Attributes:
        user_id: Which user.
        version: Rises with every change.
        providers: The user's own provider rows, ordered by provider name.
        chain: The user's fallbacks, in order; one chain whatever provider is active.
        server_fallback: Whether the server may answer where the user's own keys fail; only an
            explicit False withholds it.
    """

    user_id: str
    version: int = 0
    providers: tuple[SavedProvider, ...] = ()
    chain: tuple[FallbackEntry, ...] = ()
    server_fallback: bool = True

    @property
    def text_route(self) -> SavedProvider | None:
        """The row that pays for the user's turns, or None."""
        return next((row for row in self.providers if row.is_text_route), None)

    @property
    def primary(self) -> FallbackEntry | None:
        """The model or endpoint that leads the user's turns, or None."""
        row = self.text_route
        if row is not None and row.endpoint is not None:
            return EndpointEntry(endpoint=row.endpoint, owner=Owner.user(self.user_id))
        return ModelEntry(model=row.model) if row is not None and row.model is not None else None
