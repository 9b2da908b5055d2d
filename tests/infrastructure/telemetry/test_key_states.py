from datetime import timedelta
from typing import Any

from builders import NOON, SERVER
from prometheus_client import CollectorRegistry, generate_latest

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.domain.rotation import KeyHealth, KeyId, RotationKey
from turnkeeper.infrastructure.telemetry.dropped import Dropped
from turnkeeper.infrastructure.telemetry.key_states import KeyStates


def a_key(
    provider: str = "wall", *, opens: bool = True, enabled: bool = True, **health: Any
) -> SavedKey:
    key = RotationKey(id=KeyId(1), enabled=enabled, health=KeyHealth(**health))
    return SavedKey(
        key=key,
        owner=SERVER,
        provider=provider,
        hint="abcd",
        fingerprint="f",
        created_at=NOON,
        opens=opens,
    )


def registered(*keys: SavedKey) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(KeyStates(lambda: keys, lambda: NOON))
    return registry


def test_keys_are_counted_by_their_state() -> None:
    minute = timedelta(minutes=1)
    registry = registered(
        a_key(),
        a_key(),
        a_key(opens=False),
        a_key(enabled=False),
        a_key(disabled=True),
        a_key(rests_until=NOON + minute),
        a_key(rests_until=NOON - minute),
        a_key(rests_until=NOON - minute, probe_until=NOON + minute),
        a_key("custom:7"),
    )

    counts = {
        (sample.labels["provider"], sample.labels["state"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "turnkeeper_keys"
    }

    assert counts == {
        ("wall", "free"): 2,
        ("wall", "unreadable"): 1,
        ("wall", "switched_off"): 1,
        ("wall", "refused"): 1,
        ("wall", "resting"): 1,
        ("wall", "to_be_probed"): 1,
        ("wall", "being_probed"): 1,
        ("custom", "free"): 1,
    }


def test_nothing_of_a_key_is_shown() -> None:
    assert b"abcd" not in generate_latest(registered(a_key()))


def test_a_store_that_is_away_is_said_and_nothing_else() -> None:
    def away() -> tuple[SavedKey, ...]:
        raise StoreUnavailable("away")

    registry = CollectorRegistry()
    registry.register(KeyStates(away, lambda: NOON))

    assert registry.get_sample_value("turnkeeper_store_up") == 0
    assert b"turnkeeper_keys{" not in generate_latest(registry)


def test_what_was_dropped_is_shown() -> None:
    registry = CollectorRegistry()
    registry.register(Dropped(lambda: 3))

    assert registry.get_sample_value("turnkeeper_telemetry_dropped_total") == 3
