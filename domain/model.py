"""Models: what they are called, what they can do, how much they take."""

from dataclasses import field

from turnkeeper.domain.frozen import frozen


@frozen
class Limits:
    """How many tokens a model takes; None is unknown, and so are zero and less.

    Attributes:
        window_tokens: Prompt and answer together.
        max_output_tokens: The longest answer.
    """

    window_tokens: int | None = None
    max_output_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("window_tokens", "max_output_tokens"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                object.__setattr__(self, name, None)


@frozen
class Capabilities:
    """What a model can be given, and what its dialect asks for."""

    tools: bool = True
    images: bool = False
    videos: bool = False
    reasoning: bool = False
    prefix_completion: bool = False
    strict_role_alternation: bool = False
    verbatim_tool_calling: bool = False


@frozen
class Model:
    """One model as a provider sells it.

    Attributes:
        id: Our own id for it, ``provider:name`` unless registered otherwise.
        provider: The provider's registered name, lower case.
        name: The name that goes into the request.
        capabilities: What it can do.
        limits: How much it takes.
        price_in_per_mtok: US dollars a million input tokens, or None if unknown.
        price_out_per_mtok: US dollars a million output tokens, or None if unknown.
    """

    id: str
    provider: str
    name: str
    capabilities: Capabilities = field(default_factory=Capabilities)
    limits: Limits = field(default_factory=Limits)
    price_in_per_mtok: float | None = None
    price_out_per_mtok: float | None = None

    def __post_init__(self) -> None:
        if not self.name or not self.provider:
            raise ValueError(f"a model needs a provider and a name, not {self.id!r}")
        if self.provider != self.provider.strip().lower():
            raise ValueError(f"a provider's name is lower case, not {self.provider!r}")

    @classmethod
    def named(cls, text: str) -> "Model":
        """The model written as ``provider:name``, with nothing else known about it.

        Raises:
            ValueError: There is no provider or no name in the text.
        """
        provider, _, name = text.partition(":")
        if not provider or not name:
            raise ValueError(f"a model is written PROVIDER:NAME, not {text!r}")
        return cls(id=text, provider=provider.strip().lower(), name=name)


@frozen
class Endpoint:
    """An OpenAI-compatible address that an owner named.

    Attributes:
        id: Its id within its owner.
        connection_id: Which saved connection's key it uses; None cannot be resolved.
        label: What people call it.
        base_url: Up to and with the version, such as ``https://host/v1``.
        model_name: The name in the request; None sends the label.
        model_id: The registered model it stands for, or None.
        requires_auth: Whether it wants a key.
        trusted: Whether the operator named it, so that the address check is not applied.
        num_ctx: The context that is asked for and that it has, in tokens, or None if unknown.
    """

    id: int
    connection_id: int | None = None
    label: str
    base_url: str
    model_name: str | None = None
    model_id: str | None = None
    requires_auth: bool = True
    trusted: bool = False
    num_ctx: int | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)

    @property
    def provider(self) -> str:
        """The provider name under which its key is saved; plain where it has no connection."""
        return "custom" if self.connection_id is None else f"custom:{self.connection_id}"


@frozen
class Sampling:
    """What a request may set; None is not sent.

    Attributes:
        disabled: Names of parameters that are never sent to this model.
        logit_bias: Pairs of token id and bias.
        max_output_tokens: The owner's override; None leaves it to the caps and the model.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    stop: tuple[str, ...] = ()
    logit_bias: tuple[tuple[str, float], ...] = ()
    reasoning_effort: str | None = None
    max_output_tokens: int | None = None
    disabled: frozenset[str] = frozenset()

    def over(self, other: "Sampling") -> "Sampling":
        """These settings where set, else the other's."""
        if self == UNSET:
            return other
        return Sampling(
            **{
                name: mine
                if (mine := getattr(self, name)) not in (None, (), frozenset())
                else getattr(other, name)
                for name in Sampling.__dataclass_fields__
            }
        )


UNSET = Sampling()
