"""From a request to a plan that has been admitted."""

from collections.abc import Callable
from dataclasses import dataclass

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.ports.dice import Dice
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.turn_store import AlreadyEnded, Opened, Opening, TurnStore
from turnkeeper.domain.admission import (
    AdmissionCheck,
    CooldownCheck,
    cooldown_check,
    quota_check,
)
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.plan import FallbackEntry, Plan
from turnkeeper.domain.planning import (
    goes_personal,
    override_of,
    personal_attempts,
    renumbered,
    server_attempts,
    server_route_of,
)
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.domain.turn import TurnRequest

MAX_PLANS = 3
"""Settings that change faster than this are taken as they were last read."""

PlanTransformer = Callable[[Plan, TurnRequest], Plan]
"""Changes a plan before it runs, for example by a probe attempt in front of the primary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and what opening the turn said.

    Attributes:
        plan: What may be tried.
        opened: The admission, the resting models and the turn's epoch.
        resting: Numbers of the attempts whose model rests.
        content_filter: What is done when a provider refuses the content.
    """

    plan: Plan
    opened: Opened
    resting: frozenset[int]
    content_filter: ContentFilterPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A plan that was not admitted yet."""

    plan: Plan
    owners: tuple[Owner, ...]
    admission: AdmissionCheck | None
    content_filter: ContentFilterPolicy


class PlanTurn:
    """Plans a turn and opens it in the store."""

    def __init__(
        self,
        *,
        store: SettingsStore,
        known: KnownSettings,
        turns: TurnStore,
        dice: Dice,
        transformers: tuple[PlanTransformer, ...] = (),
        serialize: bool = True,
    ) -> None:
        self._store = store
        self._known = known
        self._turns = turns
        self._dice = dice
        self._transformers = transformers
        self._serialize = serialize

    def __call__(self, request: TurnRequest, turn_id: str) -> Planned | AlreadyEnded:
        """Plan and open. Settings that turn out to be old are read again: planned and opened anew.

        Raises:
            StoreUnavailable: Nothing was opened.
            AlreadyRunning: The same turn runs elsewhere.
        """
        for _ in range(MAX_PLANS):
            draft = self.draft(request, turn_id)
            answer = self._turns.open(self._opening(request, turn_id, draft))
            if isinstance(answer, AlreadyEnded):
                return answer
            opened = answer
            if self._known.are_current(opened.versions):
                break
        resting = frozenset(
            attempt.number
            for attempt in draft.plan.attempts
            if attempt.rest_scope in opened.resting
        )
        return Planned(
            plan=draft.plan, opened=opened, resting=resting, content_filter=draft.content_filter
        )

    def draft(self, request: TurnRequest, turn_id: str) -> _Draft:
        """The plan as the settings stand; nothing is opened, reserved or charged."""
        personal = self._known.personal(request.user_id) if request.user_id else None
        override = self.override(request)
        if personal is not None and goes_personal(request, personal):
            draft = self._personal(request, personal, override)
        else:
            draft = self._server(request, turn_id, override)
        return _Draft(
            plan=self._transformed(draft.plan, request),
            owners=draft.owners,
            admission=draft.admission,
            content_filter=draft.content_filter,
        )

    def override(self, request: TurnRequest) -> FallbackEntry | None:
        """What the request names in place of the lead, or None."""
        if request.llm_override is None:
            return None
        return override_of(request.llm_override, self._store.find_model(request.llm_override))

    def _personal(
        self, request: TurnRequest, personal: PersonalSettings, override: FallbackEntry | None
    ) -> _Draft:
        read: list[ServerSettings] = []

        def server() -> ServerSettings:
            read.append(self._known.server(request.server_id))
            return read[-1]

        server_route = server_route_of(request, personal, server)
        attempts = personal_attempts(request, personal, override, self._dice.below)
        filtered = read[0].content_filter if read else ContentFilterPolicy.NEXT
        owner = Owner.user(personal.user_id)
        return _Draft(
            plan=Plan(route=Route.PERSONAL, attempts=attempts, server_route=server_route),
            owners=(owner, request.server) if read else (owner,),
            admission=None,
            content_filter=filtered,
        )

    def _server(self, request: TurnRequest, turn_id: str, override: FallbackEntry | None) -> _Draft:
        server = self._known.server(request.server_id)
        attempts = server_attempts(request, server, override, self._dice.below)
        return _Draft(
            plan=Plan(route=Route.SERVER, attempts=attempts),
            owners=(request.server, Owner.user(request.user_id))
            if request.user_id
            else (request.server,),
            admission=admission_check(request, server, turn_id),
            content_filter=server.content_filter,
        )

    def _transformed(self, plan: Plan, request: TurnRequest) -> Plan:
        for transform in self._transformers:
            changed = transform(plan, request)
            plan = Plan(
                route=changed.route,
                attempts=renumbered(changed.attempts),
                server_route=changed.server_route,
            )
        return plan

    def _opening(self, request: TurnRequest, turn_id: str, draft: _Draft) -> Opening:
        return Opening(
            turn_id=turn_id,
            turn_key=request.turn_key,
            server=request.server,
            channel_id=request.channel_id,
            user_id=request.user_id,
            admission=draft.admission,
            owners=draft.owners,
            serialize=self._serialize,
        )


def admission_check(request: TurnRequest, server: ServerSettings, turn_id: str) -> AdmissionCheck:
    """What a turn asks of a server's rules, on the planned and on the opened server route alike."""
    user_id = request.quota_user_id or request.user_id or ""
    occasion = request.occasion
    rules = dict(server.channel_cooldowns)
    rule = rules.get(request.channel_id) or rules.get(request.parent_channel_id or "")
    cooldown: CooldownCheck | None = cooldown_check(
        rule or server.cooldown,
        occasion,
        user_id=request.user_id or user_id,
        channel_id=request.channel_id,
    )
    return AdmissionCheck(
        server_id=request.user_id or request.server_id if occasion.is_dm else request.server_id,
        trigger_key=request.trigger_key or turn_id,
        holder=turn_id,
        cooldown=cooldown,
        quota=quota_check(server.quota, occasion, user_id=user_id),
    )
