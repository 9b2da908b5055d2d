"""What one owner does is never seen, lent or changed by another, whatever they are called."""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import ClassVar

import hypothesis
import pytest
from builders import an_endpoint
from contracts.keys import PROVIDER
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from turnkeeper.application.ports.key_ring import KeyRing, KeyVault
from turnkeeper.application.ports.settings_editor import SettingsEditor
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.domain.admission import QuotaRule
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.plan import EndpointEntry
from turnkeeper.domain.rotation import BookNeutral, KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.settings import FallbackRef, PersonalSettings, ServerSettings

# Of both kinds, with names that are prefixes, patterns and parts of each other.
NAMES = ("1", "11", "1:1", "%", "_", "1'--", "é")
OWNERS = st.tuples(st.sampled_from(OwnerKind), st.sampled_from(NAMES))
ACTIONS = st.sampled_from(
    ["add key", "replace key", "disable key", "remove key", "add endpoint", "rename endpoint",
     "remove endpoint", "save settings"]
)  # fmt: skip
DEEDS = st.lists(st.tuples(OWNERS, ACTIONS, OWNERS), min_size=1, max_size=30)
ROUNDS = count(1)

Named = tuple[OwnerKind, str]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all owners share, and nobody is to notice."""

    ring: KeyRing
    keys: KeyVault
    editor: SettingsEditor
    store: SettingsStore


@dataclass
class Owned:
    """What an owner has, as the owner alone would know it."""

    keys: dict[KeyId, str] = field(default_factory=dict)
    disabled: set[KeyId] = field(default_factory=set)
    endpoints: dict[int, Endpoint] = field(default_factory=dict)
    quota: int = 0


class World:
    """Owners who act on shared stores, each with a note of what is theirs."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._round = next(ROUNDS)
        self._numbers = count(1)
        self.owned: dict[Owner, Owned] = {}

    def owner(self, named: Named) -> Owner:
        kind, name = named
        owner = Owner(kind, f"{name}.{self._round}")
        self.owned.setdefault(owner, Owned())
        return owner

    def act(self, owner: Owner, action: str, other: Owner) -> None:
        """Let the owner do it, to a thing of the other's; only one's own is ever changed."""
        mine, theirs, shared = self.owned[owner], self.owned[other], self._shared
        text = f"{owner} {next(self._numbers)}"
        key_id = next(iter(theirs.keys), KeyId(0))
        endpoint = next(iter(theirs.endpoints.values()), an_endpoint(10**9))
        is_mine, has_endpoint = key_id in mine.keys, endpoint.id in mine.endpoints
        match action:
            case "add key":
                mine.keys[shared.keys.add(owner, PROVIDER, Secret(text))] = text
            case "replace key":
                assert shared.keys.replace(owner, key_id, Secret(text)) is is_mine
                if is_mine:
                    mine.keys[key_id] = text
            case "disable key":
                assert shared.keys.enable(owner, key_id, False) is is_mine
                mine.disabled |= {key_id} if is_mine else set()
            case "remove key":
                assert shared.keys.remove(owner, key_id) is is_mine
                mine.keys.pop(key_id, None)
            case "add endpoint":
                saved = shared.editor.save_endpoint(owner, an_endpoint(0, label=text))
                mine.endpoints[saved.id] = saved
            case "rename endpoint":
                renamed = replace(endpoint, label=text)
                if has_endpoint:
                    mine.endpoints[endpoint.id] = shared.editor.save_endpoint(owner, renamed)
                else:
                    with pytest.raises(StoreError):
                        shared.editor.save_endpoint(owner, renamed)
            case "remove endpoint":
                assert shared.editor.remove_endpoint(owner, endpoint.id) is has_endpoint
                mine.endpoints.pop(endpoint.id, None)
            case "save settings":
                mine.quota = next(self._numbers)
                self._save(owner, mine.quota)

    def _save(self, owner: Owner, number: int) -> None:
        editor = self._shared.editor
        if owner.kind is OwnerKind.SERVER:
            quota = QuotaRule(enabled=True, daily_per_user=number)
            settings = ServerSettings(server_id=owner.id, quota=quota)
            editor.save_server(settings, primary=None, chain=self._all_endpoints())
        else:
            personal = PersonalSettings(user_id=owner.id, server_fallback=number % 2 == 0)
            editor.save_personal(personal, chain=self._all_endpoints())

    def _all_endpoints(self) -> tuple[FallbackRef, ...]:
        """References to everybody's, as somebody may write who guesses numbers."""
        ids = sorted(i for owned in self.owned.values() for i in owned.endpoints)
        return tuple(FallbackRef(kind="custom_endpoint", id=str(i)) for i in ids)

    def check(self, owner: Owner) -> None:
        """All that the owner can ask for is the owner's."""
        owned, shared = self.owned[owner], self._shared
        assert {saved.key.id for saved in shared.keys.keys(owner)} == set(owned.keys)
        assert all(saved.owner == owner for saved in shared.keys.keys(owner))
        assert {one.id: one for one in shared.editor.endpoints(owner)} == owned.endpoints
        self._check_lease(owner, owned)
        self._check_settings(owner, owned)

    def _check_lease(self, owner: Owner, owned: Owned) -> None:
        lent = self._shared.ring.lease(owner, PROVIDER, model="alpha", without=frozenset())
        usable = {i: text for i, text in owned.keys.items() if i not in owned.disabled}
        assert isinstance(lent, Lease) is bool(usable)
        if isinstance(lent, Lease):
            self._shared.ring.book(lent, BookNeutral())
            assert (lent.owner, lent.secret) == (owner, Secret(usable[lent.key_id]))

    def _check_settings(self, owner: Owner, owned: Owned) -> None:
        store = self._shared.store
        if owner.kind is OwnerKind.SERVER:
            server = store.server(owner.id)
            assert server.quota.daily_per_user == owned.quota
            chain = server.chain
        else:
            personal = store.personal(owner.id)
            assert personal.server_fallback is (owned.quota % 2 == 0)
            chain = personal.chain
        reached = [entry.endpoint for entry in chain if isinstance(entry, EndpointEntry)]
        assert all(owned.endpoints.get(endpoint.id) == endpoint for endpoint in reached)


class OwnerIsolationContract:
    """Subclass as Test… and give a `shared` fixture."""

    examples: ClassVar[int] = 100

    @pytest.fixture
    def shared(self) -> Shared:
        raise NotImplementedError

    def test_an_owner_sees_and_changes_only_what_is_the_owners(self, shared: Shared) -> None:
        @hypothesis.settings(
            max_examples=self.examples, suppress_health_check=[HealthCheck.too_slow]
        )
        @given(DEEDS)
        def check(deeds: list[tuple[Named, str, Named]]) -> None:
            world = World(shared)
            for named, action, other in deeds:
                world.act(world.owner(named), action, world.owner(other))
            for owner in world.owned:
                world.check(owner)

        check()
