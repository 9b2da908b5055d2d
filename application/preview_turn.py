"""What a turn would do if it began now. Nothing is opened, lent, called or charged."""

from collections.abc import Iterable
from datetime import datetime

from turnkeeper.application.plan_turn import PlanTurn, admission_check
from turnkeeper.application.ports.key_ring import KeyVault, SavedKey
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.standings import Standings
from turnkeeper.application.ports.turn_store import Opening
from turnkeeper.application.saved_pools import chosen_of
from turnkeeper.application.turn_preview import (
    AttemptOutlook,
    KeyOutlook,
    RouteOutlook,
    TurnPreview,
)
from turnkeeper.domain.admission import AdmissionCheck
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.key_condition import condition_of
from turnkeeper.domain.owner import Owner, OwnerKind, Route
from turnkeeper.domain.plan import Attempt, Plan, ServerRoute
from turnkeeper.domain.planning import (
    goes_personal,
    lends,
    personal_attempts,
    renumbered,
    server_attempts,
    wants_own_keys,
    withheld,
)
from turnkeeper.domain.rotation import Chosen
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.domain.standing import Standing
from turnkeeper.domain.turn import TurnRequest

NOBODYS = "preview"
"""The turn's id in what is asked; no turn is opened under it."""


class PreviewTurn:
    """Previews turns, by the settings as they are stored."""

    def __init__(
        self,
        *,
        store: SettingsStore,
        keys: KeyVault,
        standings: Standings,
        plan: PlanTurn,
        serialize: bool = True,
    ) -> None:
        self._store = store
        self._keys = keys
        self._standings = standings
        self._plan = plan
        self._serialize = serialize

    def __call__(
        self, request: TurnRequest, stand_ins: frozenset[str] = frozenset()
    ) -> TurnPreview:
        """What the turn would do now.

        Args:
            stand_ins: Providers for which the environment has a key, where a server has none.

        Raises:
            StoreUnavailable: The store cannot be reached.
        """
        server = self._store.server(request.server_id)
        personal = self._store.personal(request.user_id) if request.user_id else None
        check = admission_check(request, server, NOBODYS)
        standing = self._standings.look(self._opening(request, check))
        look = _Look(keys=self._keys, standing=standing, stand_ins=stand_ins)
        if personal is not None and goes_personal(request, personal):
            routes = self._personal_first(request, personal, server, check, look)
        else:
            reason = _why_not_personal(request, personal)
            planned = (
                RouteOutlook(route=Route.SERVER, withheld=ServerRoute.MEMBER_KEYS_ONLY.value)
                if wants_own_keys(request, server)
                else self._server(request, server, check, look)
            )
            routes = (planned, RouteOutlook(route=Route.PERSONAL, withheld=reason))
        return TurnPreview(standing=standing, routes=routes)

    def _personal_first(
        self,
        request: TurnRequest,
        personal: PersonalSettings,
        server: ServerSettings,
        check: AdmissionCheck,
        look: "_Look",
    ) -> tuple[RouteOutlook, ...]:
        row = personal.text_route
        attempts = personal_attempts(request, personal, self._plan.override(request), _in_order)
        reason = withheld(request, personal) or lends(server)
        plan = Plan(route=Route.PERSONAL, attempts=attempts, server_route=reason)
        plan = self._plan.transformed(plan, request)
        mine = RouteOutlook(
            route=Route.PERSONAL,
            attempts=look.at(plan.attempts),
            is_randomized=row is not None and row.randomizer and len(plan.attempts) > 1,
            admission=look.standing.admits(None),
        )
        if plan.server_route is not ServerRoute.MAY_OPEN:
            return mine, RouteOutlook(route=Route.SERVER, withheld=plan.server_route.value)
        # By then the channel is the turn's own.
        then = replace(look, standing=look.standing.in_its_channel)
        return mine, self._server(request, server, check, then, start_no=len(plan.attempts))

    def _server(
        self,
        request: TurnRequest,
        server: ServerSettings,
        check: AdmissionCheck,
        look: "_Look",
        *,
        start_no: int = 0,
    ) -> RouteOutlook:
        planned = server_attempts(request, server, self._plan.override(request), _in_order)
        plan = self._plan.transformed(Plan(route=Route.SERVER, attempts=planned), request)
        return RouteOutlook(
            route=Route.SERVER,
            attempts=look.at(renumbered(plan.attempts, start_no)),
            is_randomized=server.randomizer and len(plan.attempts) > 1,
            admission=look.standing.admits(check),
            check=check,
        )

    def _opening(self, request: TurnRequest, check: AdmissionCheck) -> Opening:
        users = (Owner.user(request.user_id),) if request.user_id else ()
        return Opening(
            turn_id=NOBODYS,
            turn_key="",
            server=request.server,
            channel_id=request.channel_id,
            user_id=request.user_id,
            admission=check,
            owners=(request.server, *users),
            serialize=self._serialize,
        )


@frozen
class _Look:
    """What is looked at for each attempt."""

    keys: KeyVault
    standing: Standing
    stand_ins: frozenset[str]

    def at(self, attempts: Iterable[Attempt]) -> tuple[AttemptOutlook, ...]:
        return tuple(self._at(attempt) for attempt in attempts)

    def _at(self, attempt: Attempt) -> AttemptOutlook:
        rests_until = self.standing.rests_until(attempt.rest_scope)
        if attempt.cause is not None:
            return AttemptOutlook(attempt=attempt, rests_until=rests_until, obstacle=attempt.cause)
        if not attempt.needs_key:
            return AttemptOutlook(attempt=attempt, rests_until=rests_until)
        return self._with_keys(attempt, rests_until)

    def _with_keys(self, attempt: Attempt, rests_until: datetime | None) -> AttemptOutlook:
        saved, now = self.keys.keys(attempt.owner, attempt.provider), self.standing.now
        model = attempt.model.name
        chosen = chosen_of(saved, model=model, now=now)
        next_id = chosen.key.id if isinstance(chosen, Chosen) else None
        keys = tuple(
            KeyOutlook(
                saved=one,
                condition=condition_of(one.key, now, model=model, opens=one.opens),
                is_next=one.key.id == next_id,
            )
            for one in saved
        )
        is_lent = isinstance(chosen, Chosen) or self._stands_in(attempt, saved)
        back_at = None if isinstance(chosen, Chosen) else chosen.next_at
        return AttemptOutlook(
            attempt=attempt,
            keys=keys,
            rests_until=rests_until,
            obstacle="" if is_lent else _no_key(attempt, saved, back_at),
            back_at=back_at,
        )

    def _stands_in(self, attempt: Attempt, saved: tuple[SavedKey, ...]) -> bool:
        is_server = attempt.owner.kind is OwnerKind.SERVER
        return is_server and not saved and attempt.provider in self.stand_ins


def _in_order(count: int) -> int:
    """Dice that leave the lead where it is."""
    return 0


def _no_key(attempt: Attempt, saved: tuple[SavedKey, ...], back_at: datetime | None) -> str:
    if not saved:
        return f"{attempt.owner} has saved no key for {attempt.provider}"
    if back_at is not None:
        return "all keys rest"
    return "no key is fit for use, and none comes back by itself"


def _why_not_personal(request: TurnRequest, personal: PersonalSettings | None) -> str:
    if personal is None:
        return "nobody asks, so nobody's own keys pay"
    if request.occasion.is_self_message:
        return "the bot itself set the turn off"
    if not any(row.text_enabled for row in personal.providers):
        return f"user {personal.user_id} uses no provider of their own for text"
    return f"user {personal.user_id} has no model for the provider that is on for text"
