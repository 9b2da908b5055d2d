"""What models are known to refuse, so that they are not asked twice."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

import orjson

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.pattern import lazily

MOST_MODELS = 256
MOST_REFUSALS = 32

Refusal = tuple[str, str | None]  # a parameter's name, and the refused value as JSON; None is any

_NONE: frozenset[Refusal] = frozenset()
_NAME = lazily(r"[a-z_]+")
_IS_UNKNOWN = lazily(
    r"unsupported[_ ](parameter|argument|field)|unrecognized|unknown|unexpected|extra|forbidden"
    r"|not permitted|deprecated|is unsupported|is not supported|support(ed on this model:)? "
    r"(the )?(parameter|argument)|not supported on this model"
)


class RefusedParameters:
    """The parameters that each model at each address has refused.

    Safe to use from several threads; of very many models the ones not used lately are forgotten.
    """

    def __init__(self) -> None:
        self._lock = Lock()  # for those who change the one below
        self._refusals: OrderedDict[tuple[str, str], frozenset[Refusal]] = OrderedDict()

    def of(self, base_url: str, model: str) -> frozenset[Refusal]:
        """What is known to be refused there."""
        return self._refusals.get((base_url, model), _NONE)

    def learn(self, base_url: str, model: str, refusal: Refusal) -> None:
        """Note a refusal."""
        place = (base_url, model)
        with self._lock:
            known = self._refusals.get(place, _NONE)
            self._refusals[place] = known | {refusal} if len(known) < MOST_REFUSALS else known
            self._refusals.move_to_end(place)
            if len(self._refusals) > MOST_MODELS:
                self._refusals.popitem(last=False)


def refusal_in(failure: Failure, body: Mapping[str, Any]) -> Refusal | None:
    """What a failure refuses of a request's body; None if it names nothing that is in it."""
    found = _NAME.match(failure.parameter or "")
    name = found[0] if found else ""
    if name not in body:
        return None
    said = f"{failure.code or ''} {failure.message}".lower()
    is_unknown = _IS_UNKNOWN.search(said) is not None
    return name, None if is_unknown else value_json(body[name])


def value_json(value: object) -> str:
    """A parameter's value, to be compared."""
    return orjson.dumps(value).decode()
