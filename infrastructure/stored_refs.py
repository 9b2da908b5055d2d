"""What stored references to models and endpoints lead to."""

from collections.abc import Iterable, Mapping

from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.settings import FallbackRef, SavedProvider

ENDPOINT = "endpoint:"
"""How people write the reference to an endpoint; its number follows."""


@frozen
class Known:
    """The models and the owner's endpoints that references are looked up in, by id."""

    owner: Owner
    models: Mapping[str, Model]
    endpoints: Mapping[int, Endpoint]

    def entry(self, ref: FallbackRef) -> FallbackEntry:
        """The entry that a reference stands for; a broken one if it leads nowhere."""
        if ref.kind == "model":
            model = self.models.get(ref.id)
            return ModelEntry(model=model) if model else _broken(ref.id, "no such model is known")
        endpoint = self.endpoints.get(int(ref.id)) if ref.id.isdecimal() else None
        if endpoint is not None:
            return EndpointEntry(endpoint=endpoint, owner=self.owner)
        return _broken(f"{ENDPOINT}{ref.id}", f"{self.owner} has no such endpoint")

    def chain(self, refs: Iterable[FallbackRef]) -> tuple[FallbackEntry, ...]:
        """The entries of a chain, each in its place."""
        return tuple(self.entry(ref) for ref in refs)

    def pairs(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, Model], ...]:
        """Pairs of a name and a model, for pairs with its id; those without a model are left."""
        return tuple((name, self.models[id_]) for name, id_ in pairs if id_ in self.models)

    def provider(
        self, row: SavedProvider, *, model_id: str | None, endpoint_id: int | None
    ) -> SavedProvider:
        """The row with the model and endpoint that its pointers lead to, or None."""
        model = None if model_id is None else self.models.get(model_id)
        endpoint = None if endpoint_id is None else self.endpoints.get(endpoint_id)
        return replace(row, model=model, endpoint=endpoint)


def _broken(name: str, cause: str) -> BrokenEntry:
    return BrokenEntry(name=name, cause=cause)


def unambiguous(text: str, models: Iterable[Model]) -> Model | None:
    """The model of that id, else the only one of that name, else None."""
    candidates = [model for model in models if text in (model.id, model.name)]
    exact = [model for model in candidates if model.id == text]
    found = exact or candidates
    return found[0] if len(found) == 1 else None


def changed_meanwhile(owner: Owner, *, read: int, stored: int) -> StoreError:
    """The refusal to write what was derived from settings that have changed since."""
    return StoreError(
        f"the settings of {owner} were changed meanwhile, from version {read} to {stored}:"
        " read them again and repeat the change"
    )


def no_endpoint(owner: Owner, endpoint_id: int) -> StoreError:
    """The refusal to replace an endpoint that is not there."""
    return StoreError(f"{owner} has no endpoint {endpoint_id} to replace: add it with the id 0")
