"""`turnkeeper plan`: what a turn would do now."""

import os
from typing import Any

import click

from turnkeeper.application.turn_preview import (
    AttemptOutlook,
    KeyOutlook,
    RouteOutlook,
    TurnPreview,
)
from turnkeeper.domain.admission import Refused
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.redact import redact
from turnkeeper.domain.standing import Standing
from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.interfaces.cli.installation import Installation, environment_keys
from turnkeeper.interfaces.cli.owners import LOCAL, OWNER_ID, server_option
from turnkeeper.interfaces.cli.present import dump, json_option, table, tell
from turnkeeper.interfaces.instants import iso, until
from turnkeeper.interfaces.pool_words import in_words


@click.command()
@server_option
@click.option(
    "--user", "user_id", type=OWNER_ID, help="Who would ask; a user's own keys come first."
)
@click.option("--channel", "channel_id", default=LOCAL, show_default=True, help="Where.")
@click.option("--parent", "parent_channel_id", help="The channel that a thread hangs under.")
@click.option("--persona", "persona_id", default="", help="Who would answer.")
@click.option("--model", "model", metavar="PROVIDER:NAME", help="In place of the lead.")
@json_option
@click.pass_obj
def plan(installation: Installation, /, as_json: bool, **asked: Any) -> None:
    """Show what a turn would do now: its attempts, keys, rules; nothing is called or charged."""
    request = _request(**asked)
    stand_ins = frozenset(environment_keys(os.environ))
    with installation.container() as container:
        container.schema()
        preview = container.preview()(request, stand_ins)
    if as_json:
        dump(_as_data(request, preview))
    else:
        _tell(request, preview)


def _request(
    *,
    server_id: str,
    user_id: str | None,
    channel_id: str,
    parent_channel_id: str | None,
    persona_id: str,
    model: str | None,
) -> TurnRequest:
    return TurnRequest(
        conversation=Conversation.of("nothing is asked"),
        server_id=server_id,
        user_id=user_id,
        channel_id=channel_id,
        parent_channel_id=parent_channel_id,
        persona=Persona(id=persona_id),
        llm_override=model,
    )


# ── for people ──────────────────────────────────────────────────────────────────────────────


def _tell(request: TurnRequest, preview: TurnPreview) -> None:
    who = f"user {request.user_id}" if request.user_id else "nobody in particular"
    tell(f"server {request.server_id}, channel {request.channel_id}, {who}")
    for number, one in enumerate(preview.routes):
        _tell_route(one, preview.standing, is_planned=number == 0)


def _tell_route(route: RouteOutlook, standing: Standing, *, is_planned: bool) -> None:
    name = f"{route.route.value} route"
    if route.withheld:
        tell(f"{name}: not taken: {route.withheld}")
        return
    tell(f"{name}: {'planned' if is_planned else 'only if all before it fail'}")
    tell(f"  rules: {_rules(route, standing)}")
    if route.is_randomized:
        tell("  randomizer: a random one of these leads each turn, the others keep their order")
    rows = [_row(one, standing) for one in route.attempts]
    columns = ("  no", "attempt", "model", "provider", "endpoint", "slot", "runs")
    table(columns, rows, empty="  there is no attempt")
    for one in route.attempts:
        for key in one.keys:
            tell(f"  {one.attempt.number}: {_key(key, standing)}")


def _rules(route: RouteOutlook, standing: Standing) -> str:
    refusal = route.admission if isinstance(route.admission, Refused) else None
    parts = []
    if refusal is not None:
        when = f" until {until(refusal.until, standing.now)}" if refusal.until else ""
        parts.append(f"refused: {refusal.kind.value.replace('_', ' ')}{when}")
    else:
        parts.append("granted")
    check = route.check
    if check is not None and check.cooldown is not None:
        cools = until(standing.cooling_until, standing.now)
        parts.append(
            f"cooldown {check.cooldown.length_s} s{f', on until {cools}' if cools else ''}"
        )
    if check is not None and check.quota is not None:
        parts.append(_quota(route, standing))
    return "; ".join(parts)


def _quota(route: RouteOutlook, standing: Standing) -> str:
    assert route.check is not None
    assert route.check.quota is not None
    rule, parts = route.check.quota.rule, []
    if rule.daily_per_user:
        parts.append(f"{standing.by_user} of {rule.daily_per_user} today")
    if rule.server_wide:
        ends = until(standing.period_ends_at, standing.now)
        period = f"in the period{f' to {ends}' if ends else ''}"
        parts.append(f"{standing.by_server} of {rule.server_wide} {period}")
    return f"quota {', '.join(parts)}"


def _row(one: AttemptOutlook, standing: Standing) -> tuple[str, ...]:
    attempt = one.attempt
    slot = "lead" if attempt.slot.is_lead else f"chain {attempt.slot.number}"
    return (
        f"  {attempt.number}",
        attempt.label,
        attempt.model.id,
        attempt.provider,
        _address(attempt) or "",
        slot,
        _runs(one, standing),
    )


def _address(attempt: Attempt) -> str | None:
    return redact(attempt.endpoint.base_url) if attempt.endpoint else None


def _runs(one: AttemptOutlook, standing: Standing) -> str:
    rests = until(one.rests_until, standing.now)
    last = f"; the model rests, so last, until {rests}" if rests else ""
    if one.obstacle:
        back = until(one.back_at, standing.now)
        return f"no: {one.obstacle}{f'; back at {back}' if back else ''}{last}"
    if not one.attempt.needs_key:
        return f"yes, without a key{last}"
    lent = [key.saved.key.id for key in one.keys if key.is_next]
    return f"with {f'key {lent[0]}' if lent else 'a key of the environment'}{last}"


def _key(key: KeyOutlook, standing: Standing) -> str:
    ends = until(key.condition.until, standing.now)
    main = " (main)" if key.saved.key.is_main else ""
    return (
        f"key {key.saved.key.id}{main} {in_words(key.condition)}{f' until {ends}' if ends else ''}"
    )


# ── for programs ────────────────────────────────────────────────────────────────────────────


def _as_data(request: TurnRequest, preview: TurnPreview) -> dict[str, Any]:
    standing = preview.standing
    return {
        "now": iso(standing.now),
        "server": request.server_id,
        "user": request.user_id,
        "channel": request.channel_id,
        "cooldown_until": iso(standing.cooling_until),
        "channel_busy_until": iso(standing.busy_until),
        "unreachable_until": iso(standing.away_until),
        "quota": {
            "by_user": standing.by_user,
            "by_server": standing.by_server,
            "period_ends_at": iso(standing.period_ends_at),
        },
        "routes": [_route_as_data(one) for one in preview.routes],
    }


def _route_as_data(route: RouteOutlook) -> dict[str, Any]:
    refusal = route.admission if isinstance(route.admission, Refused) else None
    rule = route.check.quota.rule if route.check and route.check.quota else None
    return {
        "route": route.route.value,
        "withheld": route.withheld or None,
        "refused": refusal.kind.value if refusal else None,
        "refused_until": iso(refusal.until) if refusal else None,
        "daily_per_user": rule.daily_per_user if rule else None,
        "server_wide": rule.server_wide if rule else None,
        "randomizer": route.is_randomized,
        "attempts": [_attempt_as_data(one) for one in route.attempts],
    }


def _attempt_as_data(one: AttemptOutlook) -> dict[str, Any]:
    attempt = one.attempt
    return {
        "number": attempt.number,
        "label": attempt.label,
        "owner": str(attempt.owner),
        "provider": attempt.provider,
        "model": attempt.model.id,
        "endpoint": _address(attempt),
        "slot": attempt.slot.number,
        "is_lead": attempt.slot.is_lead,
        "needs_key": attempt.needs_key,
        "rests_until": iso(one.rests_until),
        "obstacle": one.obstacle or None,
        "back_at": iso(one.back_at),
        "keys": [
            {
                "id": key.saved.key.id,
                "is_main": key.saved.key.is_main,
                "state": key.condition.state.value,
                "until": iso(key.condition.until),
                "is_next": key.is_next,
            }
            for key in one.keys
        ],
    }
