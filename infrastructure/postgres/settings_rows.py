"""Rows of settings as values, and values as rows."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import (
    FallbackRef,
    PersonalSettings,
    SavedProvider,
    ServerSettings,
)
from turnkeeper.infrastructure.stored_refs import Known

Row = Mapping[str, Any]
Values = dict[str, Any]


def model_row(model: Model) -> Values:
    """The row of a model."""
    return {
        "id": model.id,
        "provider": model.provider,
        "name": model.name,
        "capabilities": asdict(model.capabilities),
        "window_tokens": model.limits.window_tokens,
        "max_output_tokens": model.limits.max_output_tokens,
        "price_in_per_mtok": model.price_in_per_mtok,
        "price_out_per_mtok": model.price_out_per_mtok,
    }


def model_of(row: Row) -> Model:
    """The model of a row."""
    return Model(
        id=row["id"],
        provider=row["provider"],
        name=row["name"],
        capabilities=Capabilities(**row["capabilities"]),
        limits=Limits(
            window_tokens=row["window_tokens"], max_output_tokens=row["max_output_tokens"]
        ),
        price_in_per_mtok=row["price_in_per_mtok"],
        price_out_per_mtok=row["price_out_per_mtok"],
    )


def endpoint_row(endpoint: Endpoint) -> Values:
    """The row of an endpoint, its owner aside."""
    return asdict(endpoint)


def endpoint_of(row: Row) -> Endpoint:
    """The endpoint of a row."""
    values = {name: row[name] for name in Endpoint.__dataclass_fields__}
    return Endpoint(**{**values, "capabilities": Capabilities(**row["capabilities"])})


def provider_row(row: SavedProvider) -> Values:
    """The row of a saved provider, its owner aside."""
    return {
        "provider": row.provider,
        "sampling": sampling_json(row.sampling),
        "model_id": row.model.id if row.model else None,
        "endpoint_id": row.endpoint.id if row.endpoint else None,
        "text_enabled": row.text_enabled,
        "randomizer": row.randomizer,
    }


def _provider_of(row: Row, known: Known) -> SavedProvider:
    saved = SavedProvider(
        provider=row["provider"],
        sampling=_sampling_of(row["sampling"]),
        text_enabled=row["text_enabled"],
        randomizer=row["randomizer"],
    )
    return known.provider(saved, model_id=row["model_id"], endpoint_id=row["endpoint_id"])


def server_row(
    settings: ServerSettings, primary: FallbackRef | None, chain: tuple[FallbackRef, ...]
) -> Values:
    """What a server's row of owner_settings is set to."""
    return {
        "primary_ref": asdict(primary) if primary else None,
        "chain": [asdict(ref) for ref in chain],
        "randomizer": settings.randomizer,
        "member_keys_only": settings.member_keys_only,
        "content_filter": settings.content_filter.value,
        "sampling": sampling_json(settings.sampling),
        "cooldown": _cooldown_json(settings.cooldown),
        "quota": asdict(settings.quota),
        "persona_models": [[name, model.id] for name, model in settings.persona_models],
        "channel_models": [[name, model.id] for name, model in settings.channel_models],
        "channel_cooldowns": [
            [name, _cooldown_json(rule)] for name, rule in settings.channel_cooldowns
        ],
        "tools_off": list(settings.tools_off),
    }


def server_of(server_id: str, row: Row, known: Known) -> ServerSettings:
    """A server's settings from its row of owner_settings, with its providers in it."""
    return ServerSettings(
        server_id=server_id,
        version=row["version"],
        primary=known.entry(_ref(row["primary_ref"])) if row["primary_ref"] else None,
        chain=known.chain(map(_ref, row["chain"])),
        randomizer=row["randomizer"],
        member_keys_only=row["member_keys_only"],
        content_filter=ContentFilterPolicy(row["content_filter"]),
        sampling=_sampling_of(row["sampling"]),
        cooldown=_cooldown_of(row["cooldown"]),
        quota=QuotaRule(**row["quota"]),
        persona_models=known.pairs(row["persona_models"]),
        channel_models=known.pairs(row["channel_models"]),
        channel_cooldowns=tuple(
            (name, _cooldown_of(rule)) for name, rule in row["channel_cooldowns"]
        ),
        providers=_providers_of(row, known),
        tools_off=tuple(row["tools_off"]),
    )


def personal_row(settings: PersonalSettings, chain: tuple[FallbackRef, ...]) -> Values:
    """What a user's row of owner_settings is set to."""
    return {
        "chain": [asdict(ref) for ref in chain],
        "server_fallback": settings.server_fallback,
    }


def personal_of(user_id: str, row: Row, known: Known) -> PersonalSettings:
    """A user's settings from its row of owner_settings, with its providers in it."""
    return PersonalSettings(
        user_id=user_id,
        version=row["version"],
        providers=_providers_of(row, known),
        chain=known.chain(map(_ref, row["chain"])),
        server_fallback=row["server_fallback"],
    )


def known_of(owner: Owner, row: Row, models: Iterable[Row]) -> Known:
    """What the references of a row can lead to."""
    return Known(
        owner=owner,
        models={model["id"]: model_of(model) for model in models},
        endpoints={one["id"]: endpoint_of(one) for one in row["endpoints"] or ()},
    )


def model_ids(row: Row) -> list[str]:
    """The models that a row refers to."""
    refs = [*row["chain"], *([row["primary_ref"]] if row["primary_ref"] else ())]
    pairs = [*row["persona_models"], *row["channel_models"]]
    ids = {
        *(ref["id"] for ref in refs if ref["kind"] == "model"),
        *(model_id for _, model_id in pairs),
        *(saved["model_id"] for saved in row["providers"] or ()),
    }
    return sorted(ids - {None})


def _providers_of(row: Row, known: Known) -> tuple[SavedProvider, ...]:
    rows = sorted(row["providers"] or (), key=lambda saved: str(saved["provider"]))
    return tuple(_provider_of(saved, known) for saved in rows)


def _ref(stored: Row) -> FallbackRef:
    return FallbackRef(kind=stored["kind"], id=stored["id"])


def sampling_json(sampling: Sampling) -> Values:
    """The stored form of a sampling; what is not set is left out."""
    values = {**asdict(sampling), "disabled": sorted(sampling.disabled)}
    return {name: value for name, value in values.items() if value not in (None, (), [])}


def _sampling_of(stored: Row) -> Sampling:
    return Sampling(
        **{
            **stored,
            "stop": tuple(stored.get("stop", ())),
            "logit_bias": tuple((token, bias) for token, bias in stored.get("logit_bias", ())),
            "disabled": frozenset(stored.get("disabled", ())),
        }
    )


def _cooldown_json(rule: CooldownRule) -> Values:
    return {"type": rule.type.value, "length_s": rule.length_s}


def _cooldown_of(stored: Row) -> CooldownRule:
    if not stored:
        return CooldownRule()
    return CooldownRule(type=CooldownType(stored["type"]), length_s=stored["length_s"])
