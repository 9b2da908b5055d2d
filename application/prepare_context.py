"""The conversation as one attempt's model will see it."""

from dataclasses import replace

from turnkeeper.domain.adjust import Adjust, CapOutput, Shrink, WithoutMedia
from turnkeeper.domain.answers import Prepared, Unpreparable
from turnkeeper.domain.budget import estimate, has_media, output_tokens, truncated, without_media
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.turn import TurnRequest

Caps = tuple[tuple[str, int], ...]


class PrepareContext:
    """Prepares attempts; each starts from the turn's untouched conversation.

    Args:
        output_caps: Pairs of provider and the output cap set for it
            (OPENROUTER_MAX_OUTPUT_TOKENS and the like).
    """

    def __init__(self, *, output_caps: Caps = ()) -> None:
        self._output_caps = dict(output_caps)

    def __call__(self, attempt: Attempt, request: TurnRequest) -> Prepared | Unpreparable:
        """The attempt made ready, or why it cannot be."""
        if attempt.cause is not None:
            return Unpreparable(attempt_no=attempt.number, cause=attempt.cause)
        conversation = request.conversation
        if not attempt.model.capabilities.images:
            conversation = without_media(conversation)
        reserve = output_tokens(
            attempt.model, attempt.sampling, self._output_caps.get(attempt.provider)
        )
        window = attempt.model.limits.window_tokens
        fitted, dropped = conversation, 0
        if window is not None:
            fitted, dropped = truncated(conversation, to_tokens=max(1, window - reserve))
        return Prepared(
            attempt_no=attempt.number,
            conversation=fitted,
            input_tokens=estimate(fitted),
            max_output_tokens=reserve,
            has_media=has_media(fitted),
            dropped=dropped,
        )

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
