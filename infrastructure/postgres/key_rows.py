"""Rows of keys as values."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.application.ports.vault import Vault
from turnkeeper.domain.errors import VaultError
from turnkeeper.domain.failure import KeyErrorClass
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.rotation import KeyHealth, KeyId, Lease, ModelRest, RotationKey
from turnkeeper.domain.secret import Sealed, Secret

Row = Mapping[str, Any]


def rotation_key(row: Row) -> RotationKey:
    """The value of a row of key_state."""
    return RotationKey(
        id=KeyId(row["key_id"]),
        is_main=row["is_main"],
        enabled=row["enabled"],
        health=_health(row),
    )


def _health(row: Row) -> KeyHealth:
    error_class = row["last_error_class"]
    return KeyHealth(
        usage_count=row["usage_count"],
        in_flight=row["in_flight"],
        last_leased_at=row["last_leased_at"],
        error_count=row["error_count"],
        rests_until=row["rests_until"],
        rest_set_at=row["rest_set_at"],
        rest_model=row["rest_model"],
        probe_until=row["probe_until"],
        model_rests=_model_rests(row["model_rests"]),
        disabled=row["disabled"],
        last_error=(KeyErrorClass(error_class), row["last_error_text"]) if error_class else None,
    )


def _model_rests(stored: Mapping[str, str]) -> tuple[ModelRest, ...]:
    return tuple(
        ModelRest(model=model, until=datetime.fromisoformat(until).astimezone(UTC))
        for model, until in sorted(stored.items())
    )


def lease_of(row: Row, owner: Owner, provider: str, secret: Secret) -> Lease:
    """The value of a row that was lent."""
    return Lease(
        owner=owner,
        provider=provider,
        key_id=KeyId(row["key_id"]),
        secret=secret,
        leased_at=row["leased_at"],
        is_main=row["is_main"],
        is_probe=row["is_probe"],
    )


def saved_key(row: Row, vault: Vault) -> SavedKey:
    """The value of a row of provider_keys with its key_state."""
    return SavedKey(
        key=rotation_key(row),
        owner=Owner.parse(row["owner"]),
        provider=row["provider"],
        hint=row["hint"],
        fingerprint=row["fingerprint"].hex(),
        created_at=row["created_at"],
        opens=_opens(row, vault),
    )


def _opens(row: Row, vault: Vault) -> bool:
    try:
        opened(row, vault, Owner.parse(row["owner"]), row["provider"])
    except VaultError:
        return False
    return True


def opened(row: Row, vault: Vault, owner: Owner, provider: str) -> Secret:
    """The secret of a row.

    Raises:
        VaultError: It does not open.
    """
    sealed = Sealed(version=row["key_version"], data=row["sealed"])
    return vault.open(sealed, owner=owner, provider=provider, row=str(row["key_id"]))
