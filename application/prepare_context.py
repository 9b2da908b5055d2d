"""The conversation as one attempt's model will see it."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from turnkeeper.application.ports.chat_provider import LimitsCatalogue
from turnkeeper.domain.adjust import Adjust, CapOutput, Shrink, WithoutMedia
from turnkeeper.domain.answers import Prepared, Unpreparable
from turnkeeper.domain.budget import has_media, measured, output_tokens, truncated, without_media
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.model import Capabilities, Limits, Model
from turnkeeper.domain.model_facts import first_known
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.turn import TurnRequest

Caps = tuple[tuple[str, int], ...]
TokenLimits = Mapping[str, Limits]

_NO_LIMITS: TokenLimits = MappingProxyType({})
_LIVE_ABILITIES = frozenset({"openrouter"})  # whose list is right about abilities too


class PrepareContext:
    """Prepares attempts; each starts from the turn's untouched conversation.

    Args:
        output_caps: Pairs of provider and the output cap set for it
            (OPENROUTER_MAX_OUTPUT_TOKENS and the like).
        catalogue: What the providers say now, which outranks what is stored; None asks nobody.
        token_limits: The host's registry of token limits, for what nobody else knows: by
            ``provider:name``. It is read at each attempt, so that the host may add to it.
    """

    def __init__(
        self,
        *,
        output_caps: Caps = (),
        catalogue: LimitsCatalogue | None = None,
        token_limits: TokenLimits = _NO_LIMITS,
    ) -> None:
        self._output_caps = dict(output_caps)
        self._catalogue = catalogue
        self._token_limits = token_limits

    def __call__(self, attempt: Attempt, request: TurnRequest) -> Prepared | Unpreparable:
        """The attempt made ready, or why it cannot be."""
        if attempt.cause is not None:
            return Unpreparable(attempt_no=attempt.number, cause=attempt.cause)
        model = self.model_of(attempt)
        conversation = _within_abilities(request.conversation, model.capabilities)
        reserve = output_tokens(model, attempt.sampling, self._output_caps.get(attempt.provider))
        window = model.limits.window_tokens
        fitted, dropped = conversation, 0
        if window is not None:
            fitted, dropped = truncated(conversation, to_tokens=max(1, window - reserve))
        size, least = measured(fitted)
        return Prepared(
            attempt_no=attempt.number,
            conversation=fitted,
            input_tokens=size,
            least_tokens=least,
            max_output_tokens=reserve,
            has_media=has_media(fitted),
            dropped=dropped,
        )

    def model_of(self, attempt: Attempt) -> Model:
        """The attempt's model as far as it is known now; an endpoint is what its owner says.

        Each limit is what the provider says now, else what is stored, else the registry's.
        """
        model = attempt.model
        if attempt.endpoint is not None:
            return model
        live = self._catalogue.facts(attempt.provider, model.name) if self._catalogue else None
        registered = self._token_limits.get(f"{attempt.provider}:{model.name}")
        if live is None and registered is None:
            return model
        limits = first_known(live.limits if live else None, model.limits, registered)
        capabilities = model.capabilities
        if live is not None and attempt.provider in _LIVE_ABILITIES:
            capabilities = live.corrected(capabilities)
        return replace(model, limits=limits, capabilities=capabilities)

    @staticmethod
    def within(prepared: Prepared, window_tokens: int) -> Prepared:
        """The same attempt in a window that became known only with its key."""
        room = max(1, window_tokens - (prepared.max_output_tokens or 0))
        fitted, dropped = truncated(prepared.conversation, to_tokens=room)
        return replace(prepared, conversation=fitted, dropped=prepared.dropped + dropped)

    def adjusted(self, prepared: Prepared, adjust: Adjust) -> Prepared:
        """The same attempt, changed as a repeated invocation asks."""
        match adjust:
            case Shrink(to_tokens=to_tokens):
                fitted, dropped = truncated(prepared.conversation, to_tokens=to_tokens)
                return replace(prepared, conversation=fitted, dropped=prepared.dropped + dropped)
            case CapOutput(tokens=tokens):
                return replace(prepared, max_output_tokens=tokens)
            case WithoutMedia():
                conversation = without_media(prepared.conversation)
                return replace(prepared, conversation=conversation, has_media=False)
            case _:
                return prepared


def _within_abilities(conversation: Conversation, capabilities: Capabilities) -> Conversation:
    """The conversation without what the model can do nothing with."""
    if not capabilities.images:
        conversation = without_media(conversation)
    if not capabilities.tools and conversation.tools:
        conversation = replace(conversation, tools=())
    return conversation
