"""Saved keys by pool: how each stands, when a dry pool comes back, and what to tidy up."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from turnkeeper.application.ports.key_ring import KeyVault, SavedKey
from turnkeeper.application.ports.standings import Standings
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.key_condition import KeyCondition, condition_of
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import Chosen, KeyId, NothingFree, RotationPool

REPEATEDLY = 3
"""So many errors since the last success are worth a look."""


@frozen
class KeyView:
    """A saved key, as it stands.

    Attributes:
        saved: The key as it may be shown.
        condition: How it stands.
        same_as: Where the same key is saved once more, such as ``key 3 (user:ann, openai)``.
        is_never_used: It was never lent.
        is_refused_repeatedly: It has failed again and again since its last success, or was refused.
    """

    saved: SavedKey
    condition: KeyCondition
    same_as: tuple[str, ...] = ()
    is_never_used: bool = False
    is_refused_repeatedly: bool = False


@frozen
class PoolView:
    """The saved keys of one owner for one provider.

    Attributes:
        keys: Each key.
        is_dry: No key can be lent now, for whatever model.
        back_at: When a dry pool has a key again; None if not by itself.
        dry_for: Pairs of a model for which alone it is dry, and when that ends.
    """

    owner: Owner
    provider: str
    keys: tuple[KeyView, ...]
    is_dry: bool = False
    back_at: datetime | None = None
    dry_for: tuple[tuple[str, datetime | None], ...] = ()


@frozen
class PoolsSeen:
    """The pools, and when they were looked at, by the store's clock."""

    now: datetime
    pools: tuple[PoolView, ...]


class SavedPools:
    """Looks at the saved keys; none is lent, and nothing is changed."""

    def __init__(self, *, keys: KeyVault, standings: Standings) -> None:
        self._keys = keys
        self._standings = standings

    def __call__(self, owner: Owner | None = None, provider: str | None = None) -> PoolsSeen:
        """The pools of an owner, or of all, in order of owner and provider.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        now = self._standings.now()
        saved = self._keys.keys()  # all of them, since a key may be saved for others too
        twins = _twins(saved)
        pools: dict[tuple[Owner, str], list[KeyView]] = defaultdict(list)
        for one in saved:
            if owner in {None, one.owner} and provider in {None, one.provider}:
                pools[one.owner, one.provider].append(_view(one, now, twins))
        seen = tuple(_pool(*whose, tuple(views), now) for whose, views in pools.items())
        return PoolsSeen(now=now, pools=seen)


def chosen_of(saved: Iterable[SavedKey], *, model: str, now: datetime) -> Chosen | NothingFree:
    """The key that a turn would be lent now; keys that do not open are passed over."""
    pool = RotationPool(keys=tuple(one.key for one in saved if one.opens))
    return pool.choose(model=model, without=frozenset[KeyId](), now=now)


def _twins(saved: Iterable[SavedKey]) -> dict[str, list[SavedKey]]:
    by_fingerprint: dict[str, list[SavedKey]] = defaultdict(list)
    for one in saved:
        by_fingerprint[one.fingerprint].append(one)
    return by_fingerprint


def _view(one: SavedKey, now: datetime, twins: dict[str, list[SavedKey]]) -> KeyView:
    health = one.key.health
    others = (twin for twin in twins[one.fingerprint] if twin.key.id != one.key.id)
    return KeyView(
        saved=one,
        condition=condition_of(one.key, now, opens=one.opens),
        same_as=tuple(f"key {twin.key.id} ({twin.owner}, {twin.provider})" for twin in others),
        is_never_used=health.last_leased_at is None,
        is_refused_repeatedly=health.disabled or health.error_count >= REPEATEDLY,
    )


def _pool(owner: Owner, provider: str, views: tuple[KeyView, ...], now: datetime) -> PoolView:
    saved = tuple(view.saved for view in views)
    chosen = chosen_of(saved, model="", now=now)
    is_dry = isinstance(chosen, NothingFree)
    return PoolView(
        owner=owner,
        provider=provider,
        keys=views,
        is_dry=is_dry,
        back_at=chosen.next_at if isinstance(chosen, NothingFree) else None,
        dry_for=() if is_dry else _dry_for(saved, now),
    )


def _dry_for(saved: tuple[SavedKey, ...], now: datetime) -> tuple[tuple[str, datetime | None], ...]:
    models = {rest.model for one in saved for rest in one.key.health.model_rests}
    models |= {model for one in saved if (model := one.key.health.rest_model) is not None}
    tried = ((model, chosen_of(saved, model=model, now=now)) for model in sorted(models))
    return tuple((model, none.next_at) for model, none in tried if isinstance(none, NothingFree))
