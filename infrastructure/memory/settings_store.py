"""Keeps settings in the memory of one process."""

from collections.abc import Iterable
from itertools import count
from threading import Lock

from turnkeeper.application.ports.settings_editor import SettingsEditor, WholeOwner
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Endpoint, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import (
    FallbackRef,
    PersonalSettings,
    SavedProvider,
    ServerSettings,
)
from turnkeeper.infrastructure.stored_refs import (
    Known,
    changed_meanwhile,
    no_endpoint,
    unambiguous,
)


@frozen
class _Saved:
    """What an owner has set, and the references of its chain; models in it are only pointers."""

    version: int = 0
    settings: ServerSettings | PersonalSettings | None = None
    primary: FallbackRef | None = None
    chain: tuple[FallbackRef, ...] = ()

    def mentions(self, model_id: str) -> bool:
        refs = (*self.chain, *((self.primary,) if self.primary else ()))
        ids = {ref.id for ref in refs if ref.kind == "model"}
        settings = self.settings
        if isinstance(settings, ServerSettings):
            pairs = (*settings.persona_models, *settings.channel_models)
            ids.update(model.id for _, model in pairs)
        rows = settings.providers if settings else ()
        ids.update(row.model.id for row in rows if row.model)
        return model_id in ids


class MemorySettingsStore(SettingsStore, SettingsEditor):
    """The settings of one process, resolved anew at each reading."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._endpoints: dict[Owner, dict[int, Endpoint]] = {}
        self._saved: dict[Owner, _Saved] = {}
        self._endpoint_ids = count(1)
        # Guards all of them: each method is one reading or one change.
        self._lock = Lock()

    def server(self, server_id: str) -> ServerSettings:
        owner = Owner.server(server_id)
        with self._lock:
            saved, known = self._saved.get(owner, _Saved()), self._known(owner)
            settings = saved.settings
            if not isinstance(settings, ServerSettings):
                return ServerSettings(server_id=server_id, version=saved.version)
            return replace(
                settings,
                version=saved.version,
                primary=known.entry(saved.primary) if saved.primary else None,
                chain=known.chain(saved.chain),
                persona_models=known.pairs((name, m.id) for name, m in settings.persona_models),
                channel_models=known.pairs((name, m.id) for name, m in settings.channel_models),
                providers=_resolved(settings.providers, known),
            )

    def version_of(self, owner: Owner) -> int:
        """How often an owner's settings have changed; 0 where nothing is set."""
        saved = self._saved.get(owner)  # a single look needs no lock
        return saved.version if saved is not None else 0

    def personal(self, user_id: str) -> PersonalSettings:
        owner = Owner.user(user_id)
        with self._lock:
            saved, known = self._saved.get(owner, _Saved()), self._known(owner)
            settings = saved.settings
            if not isinstance(settings, PersonalSettings):
                return PersonalSettings(user_id=user_id, version=saved.version)
            return replace(
                settings,
                version=saved.version,
                chain=known.chain(saved.chain),
                providers=_resolved(settings.providers, known),
            )

    def find_model(self, text: str) -> Model | None:
        with self._lock:
            return unambiguous(text, self._models.values())

    def save_model(self, model: Model) -> None:
        with self._lock:
            self._register(model)

    def remove_model(self, model_id: str) -> bool:
        with self._lock:
            gone = self._models.pop(model_id, None)
            if gone is not None:
                self._outdate(model_id)
            return gone is not None

    def owners(self, *, using: str | None = None) -> tuple[Owner, ...]:
        with self._lock:
            found = [
                owner for owner, saved in self._saved.items() if not using or saved.mentions(using)
            ]
        return tuple(sorted(found, key=str))

    def models(self) -> tuple[Model, ...]:
        with self._lock:
            return tuple(model for _, model in sorted(self._models.items()))

    def save_server(
        self,
        settings: ServerSettings,
        *,
        primary: FallbackRef | None,
        chain: tuple[FallbackRef, ...],
    ) -> None:
        owner = Owner.server(settings.server_id)
        with self._lock:
            version = self._next_version(owner, read=settings.version)
            self._saved[owner] = _Saved(
                version=version, settings=settings, primary=primary, chain=chain
            )

    def save_personal(self, settings: PersonalSettings, *, chain: tuple[FallbackRef, ...]) -> None:
        owner = Owner.user(settings.user_id)
        with self._lock:
            version = self._next_version(owner, read=settings.version)
            self._saved[owner] = _Saved(version=version, settings=settings, chain=chain)

    def save_endpoint(self, owner: Owner, endpoint: Endpoint) -> Endpoint:
        with self._lock:
            owned = self._endpoints.setdefault(owner, {})
            if endpoint.id == 0:
                endpoint = replace(endpoint, id=next(self._endpoint_ids))
            elif endpoint.id not in owned:
                raise no_endpoint(owner, endpoint.id)
            owned[endpoint.id] = endpoint
            self._raise_version(owner)
            return endpoint

    def endpoints(self, owner: Owner) -> tuple[Endpoint, ...]:
        with self._lock:
            return tuple(one for _, one in sorted(self._endpoints.get(owner, {}).items()))

    def remove_endpoint(self, owner: Owner, endpoint_id: int) -> bool:
        with self._lock:
            gone = self._endpoints.get(owner, {}).pop(endpoint_id, None)
            if gone is not None:
                self._raise_version(owner)
            return gone is not None

    def new_endpoint_id(self) -> int:
        with self._lock:
            return next(self._endpoint_ids)

    def replace_owner(self, whole: WholeOwner) -> None:
        owner = whole.owner
        with self._lock:
            version = self._next_version(owner, read=whole.settings.version)
            self._saved[owner] = _Saved(
                version=version, settings=whole.settings, primary=whole.primary, chain=whole.chain
            )
            self._endpoints[owner] = {one.id: one for one in whole.endpoints}
            for model in whole.models:
                self._register(model)

    def _register(self, model: Model) -> None:
        if self._models.get(model.id) != model:
            self._models[model.id] = model
            self._outdate(model.id)

    def _outdate(self, model_id: str) -> None:
        for owner, saved in self._saved.items():
            if saved.mentions(model_id):
                self._saved[owner] = replace(saved, version=saved.version + 1)

    def count_of(self, owner: Owner) -> int:
        """How much an owner has set: providers, endpoints, and the rest as one."""
        with self._lock:
            saved, endpoints = self._saved.get(owner), self._endpoints.get(owner, {})
            if saved is None or not isinstance(saved.settings, PersonalSettings):
                return len(endpoints)
            others = bool(saved.chain) or not saved.settings.server_fallback
            return len(saved.settings.providers) + len(endpoints) + others

    def forget(self, owner: Owner) -> int:
        """Forget what an owner has set; returns how much that was. The version rises."""
        count = self.count_of(owner)
        with self._lock:
            self._endpoints.pop(owner, None)
            if owner in self._saved:
                self._saved[owner] = _Saved(version=self._saved[owner].version + 1)
        return count

    def _known(self, owner: Owner) -> Known:
        return Known(owner=owner, models=self._models, endpoints=self._endpoints.get(owner, {}))

    def _raise_version(self, owner: Owner) -> None:
        saved = self._saved.get(owner, _Saved())
        self._saved[owner] = replace(saved, version=saved.version + 1)

    def _next_version(self, owner: Owner, *, read: int) -> int:
        stored = self._saved.get(owner, _Saved()).version
        if read and read != stored:
            raise changed_meanwhile(owner, read=read, stored=stored)
        return stored + 1


def _resolved(rows: Iterable[SavedProvider], known: Known) -> tuple[SavedProvider, ...]:
    return tuple(
        known.provider(
            row,
            model_id=row.model.id if row.model else None,
            endpoint_id=row.endpoint.id if row.endpoint else None,
        )
        for row in sorted(rows, key=lambda row: row.provider)
    )
