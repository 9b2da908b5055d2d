"""How saved keys stand, in the words that commands and pages share."""

from datetime import datetime

from turnkeeper.application.saved_pools import KeyView, PoolView
from turnkeeper.domain.key_condition import FIT, HALF_OPEN, KeyCondition, KeyState
from turnkeeper.interfaces.instants import until


def lending(pool: PoolView, now: datetime) -> str:
    """Whether a key of the pool can be lent, and when again if not."""
    if pool.is_dry:
        return f"dry; {_back(pool.back_at, now)}"
    dry = [f"dry for {model}; {_back(back_at, now)}" for model, back_at in pool.dry_for]
    return "; ".join(dry) or "a key can be lent"


def _back(back_at: datetime | None, now: datetime) -> str:
    if back_at is None:
        return "no key comes back by itself"
    return f"the next key is back at {until(back_at, now)}"


def in_words(condition: KeyCondition) -> str:
    """How a key stands."""
    half = "half open, " if condition.state in HALF_OPEN else ""
    return f"{half}{condition.state.value}"


def limits(view: KeyView, now: datetime) -> str:
    """Which models it rests for, or which one it rests because of; empty for none."""
    state, health = view.condition.state, view.saved.key.health
    models = sorted(rest.model for rest in health.model_rests if rest.until > now)
    if models and state in FIT:
        return f"resting for {', '.join(models)}"
    is_limited = state is KeyState.RESTING and health.rest_model is not None
    return f"{health.rest_model} was limited" if is_limited else ""


def advices(view: KeyView) -> tuple[str, ...]:
    """What to tidy up about a key."""
    key, found = view.saved.key, []
    if view.same_as:
        found.append(f"the same as {', '.join(view.same_as)}: they share one limit")
    if view.is_never_used:
        found.append("never used")
    if key.is_main and not key.enabled:
        found.append("off, and still the last resort, since it is the main key")
    if key.health.disabled:
        found.append(f"refused by the provider: `turnkeeper key remove {key.id}`, or replace it")
    elif view.is_refused_repeatedly:
        found.append(f"failed {key.health.error_count} times since it last worked")
    if view.condition.state is KeyState.SHUT:
        found.append("does not open: check the master secret with `turnkeeper secrets audit`")
    return tuple(found)
