"""The conversation as one attempt's model will see it."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from turnkeeper.application.ports.chat_provider import LimitsCatalogue
from turnkeeper.application.ports.media_reader import MediaReader
from turnkeeper.application.ports.token_counter import TokenCounter
from turnkeeper.domain.adjust import Adjust, AsIs, CapOutput, Repeat, Shrink, WithoutMedia
from turnkeeper.domain.answers import Prepared, Unpreparable
from turnkeeper.domain.budget import (
    is_eaten,
    output_tokens,
    prompt_tokens,
    raised_output_tokens,
    within_window,
)
from turnkeeper.domain.conversation import Conversation, MediaKind
from turnkeeper.domain.frozen import maker, replace
from turnkeeper.domain.media import (
    Asked,
    Reading,
    as_claimed,
    as_seen,
    has_media,
    without_media,
)
from turnkeeper.domain.model import Capabilities, Limits, Model
from turnkeeper.domain.model_facts import first_known
from turnkeeper.domain.outcome import Outcome
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.scaffolding import as_sent, scaffolded
from turnkeeper.domain.stream import FinishReason, Usage
from turnkeeper.domain.token_estimate import sizes_of
from turnkeeper.domain.truncation import Cut, Sizes, cut_to, drop_oldest
from turnkeeper.domain.turn import TurnRequest

_new_prepared = maker(Prepared)

Caps = tuple[tuple[str, int], ...]
TokenLimits = Mapping[str, Limits]

_NO_LIMITS: TokenLimits = MappingProxyType({})
LENGTH_EMPTY_RETRY_DROP_PAIRS = 2
"""How many exchanges more each time are left out after an answer that was cut before it began."""

_CUT = FinishReason.LENGTH  # looking it up takes as long as a call
_PLACES = 2  # where media may be: the first address and the other one
_LIVE_ABILITIES = frozenset({"openrouter"})  # whose list is right about abilities too


class PrepareContext:
    """Prepares attempts; each starts from the turn's untouched conversation.

    Args:
        output_caps: Pairs of provider and the output cap set for it
            (OPENROUTER_MAX_OUTPUT_TOKENS and the like).
        catalogue: What the providers say now, which outranks what is stored; None asks nobody.
        token_limits: The host's registry of token limits, for what nobody else knows: by
            ``provider:name``. It is read at each attempt, so that the host may add to it.
        counter: Counts tokens; None counts by the scripts of the texts.
        media: Looks at media before they are sent; None takes them at their word.
        length_empty_drop_pairs: How many exchanges more each time are left out after an answer
            that was cut before it began.
    """

    def __init__(
        self,
        *,
        output_caps: Caps = (),
        catalogue: LimitsCatalogue | None = None,
        token_limits: TokenLimits = _NO_LIMITS,
        counter: TokenCounter | None = None,
        media: MediaReader | None = None,
        length_empty_drop_pairs: int = LENGTH_EMPTY_RETRY_DROP_PAIRS,
    ) -> None:
        self._output_caps = dict(output_caps)
        self._catalogue = catalogue
        self._token_limits = token_limits
        self._counter = counter
        self._media = media
        self._drop_pairs = length_empty_drop_pairs

    def __call__(
        self,
        attempt: Attempt,
        request: TurnRequest,
        *,
        retries: int = 0,
        empty_finish: FinishReason | None = None,
        empty_usage: Usage | None = None,
    ) -> Prepared | Unpreparable:
        """The attempt made ready, or why it cannot be.

        Args:
            retries: How often the turn was run again because nothing came, besides what the
                request says.
            empty_finish: How the run before ended, if this is such a run.
            empty_usage: What its last invocation used.
        """
        if attempt.cause is not None:
            return Unpreparable(attempt_no=attempt.number, cause=attempt.cause)
        model = self.model_of(attempt)
        conversation = self._as_seen(request.conversation, attempt, model)
        was_cut = (empty_finish if retries else request.empty_finish) is _CUT
        drops = self._drop_pairs * (request.retry_count + retries) if was_cut else 0
        reserve = output_tokens(model, attempt.sampling, self._output_caps.get(attempt.provider))
        if drops and is_eaten(empty_usage.reasoning_tokens if empty_usage else None, reserve):
            # It needs more output, and not less of a prompt, as reasoning has left no room.
            raised = raised_output_tokens(model, attempt.sampling, reserve)
            reserve, drops = (raised, 0) if raised > reserve else (reserve, drops)
        cut = self._fitted(conversation, model, reserve, drops)
        return _new_prepared(
            attempt_no=attempt.number,
            conversation=cut.conversation,
            input_tokens=cut.tokens,
            least_tokens=cut.least_tokens,
            max_output_tokens=reserve,
            has_media=has_media(cut.conversation),
            dropped=cut.exchanges,
        )

    def learn(self, attempt: Attempt, prepared: Prepared, outcome: Outcome) -> None:
        """Compare what was counted with what the provider says of an unchanged request."""
        calls = outcome.ran.stream_results
        if self._counter is None or len(calls) != 1 or prepared.has_media:
            return
        usage = calls[0].usage
        if usage is not None and usage.input_tokens:
            self._counter.learn(
                attempt.model, counted=prepared.input_tokens, reported=usage.input_tokens
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
        output = within_window(prepared.max_output_tokens or 0, window_tokens)
        fitted = _shrunk(prepared, prompt_tokens(window_tokens, output))
        return replace(fitted, max_output_tokens=output if prepared.max_output_tokens else None)

    def adjusted(self, prepared: Prepared, adjust: Adjust) -> Prepared:
        """The same attempt, changed as a repeated invocation asks."""
        match adjust:
            case AsIs() | Repeat():
                return prepared
            case Shrink(to_tokens=to_tokens):
                return _shrunk(prepared, to_tokens)
            case CapOutput(tokens=tokens):
                return replace(prepared, max_output_tokens=tokens)
            case WithoutMedia():
                conversation = without_media(prepared.conversation)
                return replace(prepared, conversation=conversation, has_media=False)

    def _as_seen(self, conversation: Conversation, attempt: Attempt, model: Model) -> Conversation:
        """The conversation as the model is able to take it."""
        if conversation.is_plain and not conversation.tools:
            return conversation
        can = model.capabilities
        if not can.tools and conversation.tools:
            conversation = replace(conversation, tools=())
        if has_media(conversation):
            conversation = self._with_media(conversation, can)
        is_custom = attempt.endpoint is not None
        verbatim = is_custom and can.tools and can.verbatim_tool_calling
        return scaffolded(conversation, verbatim=verbatim)

    def _with_media(self, conversation: Conversation, can: Capabilities) -> Conversation:
        """The media looked at, and then where else those are that could not be read."""
        if self._media is None:
            return as_seen(conversation, can)
        readings: dict[Asked, Reading] = {}
        for _ in range(_PLACES):
            unread: list[Asked] = []
            seen = as_seen(conversation, can, partial(_looked_up, readings, unread))
            if not unread:
                return seen
            readings.update({asked: as_claimed(*asked) for asked in unread})
            readings.update(self._media.read(tuple(dict.fromkeys(unread))))
        return as_seen(conversation, can, partial(_looked_up, readings, []))

    def _fitted(self, conversation: Conversation, model: Model, reserve: int, drops: int) -> Cut:
        """What fits the window, less some exchanges."""
        window = model.limits.window_tokens
        room = None if window is None else prompt_tokens(window, reserve)
        cut = cut_to(conversation, self._sizes(conversation, model), to_tokens=room)
        if not drops:
            return cut
        less = drop_oldest(cut.conversation, self._sizes(cut.conversation, model), count=drops)
        return replace(less, exchanges=cut.exchanges + less.exchanges)

    def _sizes(self, conversation: Conversation, model: Model) -> Sizes:
        if conversation.tools:
            conversation = as_sent(conversation)
        return self._counter.sizes(conversation, model) if self._counter else sizes_of(conversation)


def _looked_up(
    readings: Mapping[Asked, Reading],
    unread: list[Asked],
    kind: MediaKind,
    uri: str,
    mime_type: str | None,
) -> Reading:
    """What is known of one; what is not is noted, and taken at its word."""
    asked = (kind, uri, mime_type)
    if asked not in readings:
        unread.append(asked)
        return as_claimed(*asked)
    return readings[asked]


def _shrunk(prepared: Prepared, to_tokens: int) -> Prepared:
    """The same, in so many tokens of those in which it was counted."""
    sizes = sizes_of(as_sent(prepared.conversation))
    scale = prepared.input_tokens / sizes.total if prepared.input_tokens and sizes.total else 1.0
    cut = cut_to(prepared.conversation, sizes, to_tokens=int(to_tokens / scale))
    return replace(
        prepared,
        conversation=cut.conversation,
        input_tokens=round(cut.tokens * scale),
        dropped=prepared.dropped + cut.exchanges,
    )
