"""Estimates tokens by script, and learns each model's own measure from what it reports."""

from collections import OrderedDict
from threading import Lock

from turnkeeper.application.ports.token_counter import Learner, TokenCounter
from turnkeeper.application.ports.token_measures import TokenMeasure
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.model import Model
from turnkeeper.domain.token_estimate import Count, sizes_by, sizes_of, tokens_of
from turnkeeper.domain.truncation import Sizes

MOST_TEXTS = 16_384
MOST_MODELS = 1_024
LEAST_TOKENS = 200
LEAST_FACTOR, MOST_FACTOR = 0.5, 4.0
LEAST_BELIEVED, MOST_BELIEVED = 0.25, 8.0
WEIGHT = 0.3
"""Of what was said last, in the mean of all that was said."""

Key = tuple[str, str]


class TokenEstimator(TokenCounter, Learner):
    """Counts by the texts' scripts, times a factor for each model.

    Within 20 % of the o200k encoding for running text in the scripts that are tested; what a
    model with another encoding makes of them is learnt. What is remembered of a text is a hash
    and a number.

    Args:
        text_tokens: How many tokens a text is.
        most_texts: Texts whose size is remembered; after that it begins anew.
        most_models: Models whose factor is remembered; the ones not used lately are forgotten.
    """

    def __init__(
        self,
        text_tokens: Count = tokens_of,
        *,
        most_texts: int = MOST_TEXTS,
        most_models: int = MOST_MODELS,
    ) -> None:
        self._count = text_tokens
        self._sizes_of = sizes_of if text_tokens is tokens_of else sizes_by
        self._most_texts = most_texts
        self._most_models = most_models
        self._texts: dict[int, int] = {}  # threads may lose one another's entries, no more
        self._lock = Lock()  # guards both below
        self._factors: OrderedDict[Key, float] = OrderedDict()
        self._changed: set[Key] = set()

    def sizes(self, conversation: Conversation, model: Model) -> Sizes:
        sizes = self._sizes_of(conversation, self._text_tokens)
        factor = self.factor(model)
        if factor == 1.0:
            return sizes
        items = tuple([round(size * factor) for size in sizes.items])
        return Sizes(items=items, tools=round(sizes.tools * factor))

    def learn(self, model: Model, *, counted: int, reported: int) -> None:
        if counted < LEAST_TOKENS or reported <= 0:
            return
        key = (model.provider, model.name)
        with self._lock:
            before = self._factors.get(key, 1.0)
            seen = before * reported / counted
            if not LEAST_BELIEVED <= seen <= MOST_BELIEVED:  # such as 10 for every prompt
                return
            self._remember(key, before + WEIGHT * (seen - before))
            self._changed.add(key)

    def recall(self, measures: tuple[TokenMeasure, ...]) -> None:
        with self._lock:
            for measure in measures:
                self._remember((measure.provider, measure.model), measure.factor)

    def learnt(self) -> tuple[TokenMeasure, ...]:
        with self._lock:
            changed, self._changed = self._changed, set()
            return tuple(
                TokenMeasure(provider=key[0], model=key[1], factor=self._factors[key])
                for key in changed
                if key in self._factors
            )

    def _remember(self, key: Key, factor: float) -> None:
        self._factors[key] = min(MOST_FACTOR, max(LEAST_FACTOR, factor))
        self._factors.move_to_end(key)
        if len(self._factors) > self._most_models:
            self._factors.popitem(last=False)

    def factor(self, model: Model) -> float:
        """What an estimate is multiplied by for the model; 1 until it has reported something."""
        key = (model.provider, model.name)
        with self._lock:
            factor = self._factors.get(key)
            if factor is None:
                return 1.0
            self._factors.move_to_end(key)
            return factor

    def _text_tokens(self, text: str) -> int:
        key = hash(text)
        try:
            return self._texts[key]
        except KeyError:
            tokens = self._count(text)
            if len(self._texts) >= self._most_texts:
                self._texts.clear()
            self._texts[key] = tokens
            return tokens
