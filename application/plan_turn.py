"""From a request to a plan that has been admitted."""

from collections.abc import Callable
from contextlib import suppress

from turnkeeper.application.known_plans import KnownPlans
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.ports.dice import Dice
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.turn_store import (
    AlreadyEnded,
    Closing,
    Opened,
    Opening,
    TurnStore,
)
from turnkeeper.domain.admission import (
    AdmissionCheck,
    CooldownRule,
    Granted,
    RefusalKind,
    Refused,
    cooldown_check,
    quota_check,
)
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.finish import Nothing
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.plan import FallbackEntry, Plan, ServerRoute
from turnkeeper.domain.planning import (
    goes_personal,
    is_a_name,
    lends,
    limits_turns,
    override_of,
    personal_attempts,
    renumbered,
    wants_own_keys,
    withheld,
)
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.domain.turn import TurnRequest, TurnResult

MAX_PLANS = 3
"""Settings that change faster than this are taken as they were last read."""

PlanTransformer = Callable[[Plan, TurnRequest], Plan]
"""Changes a plan before it runs, for example by a probe attempt in front of the primary."""


@frozen
class Draft:
    """A plan that was not admitted yet, and how its turn is to be opened.

    Attributes:
        plan: What may be tried.
        opening: What the store is asked.
        content_filter: What is done when a provider refuses the content.
        tools_off: The tools that the server has switched off, by name.
        asks_server: Whether the server's models may follow if the server lends them.
        refusal: Why the turn is refused whatever the store says, or None.
    """

    plan: Plan
    opening: Opening
    content_filter: ContentFilterPolicy
    tools_off: tuple[str, ...] = ()
    asks_server: bool = False
    refusal: Refused | None = None


@frozen
class Planned:
    """A plan, and what opening the turn said: the admission, the resting models and the epoch."""

    draft: Draft
    opened: Opened


_new_admission_check, _new_draft = maker(AdmissionCheck), maker(Draft)
_new_opening, _new_planned = maker(Opening), maker(Planned)


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
        self._server_plan = KnownPlans(dice.below)
        self._transformers = transformers
        self._serialize = serialize

    def __call__(self, request: TurnRequest, turn_id: str) -> Planned | AlreadyEnded:
        """Plan and open. Settings that turn out to be old are read again: planned and opened anew.

        Raises:
            StoreUnavailable: Nothing is open.
            AlreadyRunning: The same turn runs elsewhere.
        """
        opened: Opened | None = None
        try:
            for tries_left in range(MAX_PLANS, 0, -1):
                draft = self.draft(request, turn_id)
                answer = self._turns.open(draft.opening)
                if isinstance(answer, AlreadyEnded):
                    return answer
                opened = answer
                if self._known.are_current(opened.versions) or tries_left == 1:
                    return self._planned(draft, opened, request)
            raise AssertionError("the last try returns")
        except Exception:
            if opened is not None:
                self._give_up(request, turn_id, opened)
            raise

    def draft(self, request: TurnRequest, turn_id: str) -> Draft:
        """The plan as the settings stand; nothing is opened, reserved or charged.

        Whether the server route may follow a personal plan is decided once it is certain that
        the account's choice is not an old one.
        """
        personal = self._known.personal(request.user_id) if request.user_id else None
        if personal is not None and goes_personal(request, personal):
            return self._personal(request, turn_id, personal)
        return self._server(request, turn_id)

    def _planned(self, draft: Draft, opened: Opened, request: TurnRequest) -> Planned:
        if draft.refusal is not None and isinstance(opened.admission, Granted):
            opened = replace(opened, admission=draft.refusal)
        if draft.asks_server:
            server = self._known.server(request.server_id)
            draft = replace(
                draft,
                plan=replace(draft.plan, server_route=lends(server)),
                content_filter=server.content_filter,
                tools_off=server.tools_off,
            )
        if self._transformers:
            draft = replace(draft, plan=self.transformed(draft.plan, request))
        return _new_planned(draft=draft, opened=opened)

    def _give_up(self, request: TurnRequest, turn_id: str, opened: Opened) -> None:
        """A turn that was opened and cannot be planned holds nothing."""
        closing = Closing(
            turn_id=turn_id,
            epoch=opened.epoch,
            server=request.server,
            channel_id=request.channel_id,
            settle=Nothing(),
            result=TurnResult(status=TurnStatus.ERROR, turn_id=turn_id),
        )
        with suppress(StoreError):  # then it comes back by expiry
            self._turns.close(closing)

    def override(self, request: TurnRequest) -> FallbackEntry | None:
        """What the request names in place of the lead, or None."""
        if request.llm_override is None:
            return None
        text = request.llm_override
        return override_of(text, self._store.find_model(text) if is_a_name(text) else None)

    def _personal(self, request: TurnRequest, turn_id: str, personal: PersonalSettings) -> Draft:
        reason = withheld(request, personal)
        override = self.override(request)
        attempts = personal_attempts(request, personal, override, self._dice.below)
        user, server = Owner.user(personal.user_id), request.server
        owners = (user,) if reason else (user, server)
        return Draft(
            plan=Plan(
                route=Route.PERSONAL,
                attempts=attempts,
                server_route=reason or ServerRoute.MAY_OPEN,
            ),
            opening=self._opening(request, turn_id, server, owners, None),
            content_filter=ContentFilterPolicy.NEXT,
            asks_server=reason is None,
        )

    def _server(self, request: TurnRequest, turn_id: str) -> Draft:
        settings, server = self._known.server(request.server_id), request.server
        own_keys = wants_own_keys(request, settings)
        asks = limits_turns(settings) and not own_keys
        admission = admission_check(request, settings, turn_id) if asks else None
        owners = (server, Owner.user(request.user_id)) if request.user_id else (server,)
        return _new_draft(
            plan=self._server_plan(request, settings, self.override(request)),
            opening=self._opening(request, turn_id, server, owners, admission),
            content_filter=settings.content_filter,
            tools_off=settings.tools_off,
            refusal=Refused(kind=RefusalKind.MEMBER_KEYS) if own_keys else None,
        )

    def transformed(self, plan: Plan, request: TurnRequest) -> Plan:
        """The plan as the host's transformers leave it; its attempts are numbered from 0."""
        for transform in self._transformers:
            changed = transform(plan, request)
            plan = Plan(
                route=changed.route,
                attempts=renumbered(changed.attempts),
                # A transformer may withhold the server's models, and never lend them.
                server_route=changed.server_route
                if plan.server_route is ServerRoute.MAY_OPEN
                else plan.server_route,
            )
        return plan

    def _opening(
        self,
        request: TurnRequest,
        turn_id: str,
        server: Owner,
        owners: tuple[Owner, ...],
        admission: AdmissionCheck | None,
    ) -> Opening:
        return _new_opening(
            turn_id=turn_id,
            turn_key=request.turn_key,
            server=server,
            channel_id=request.channel_id,
            user_id=request.user_id,
            admission=admission,
            owners=owners,
            serialize=self._serialize,
        )


def admission_check(request: TurnRequest, server: ServerSettings, turn_id: str) -> AdmissionCheck:
    """What a turn asks of a server's rules, on the planned and on the opened server route alike."""
    user_id = request.quota_user_id or request.user_id or ""
    occasion = request.occasion
    cooldown = cooldown_check(
        _cooldown_rule(request, server),
        occasion,
        user_id=request.user_id or user_id,
        channel_id=request.channel_id,
    )
    return _new_admission_check(
        server_id=request.user_id or request.server_id if occasion.is_dm else request.server_id,
        trigger_key=request.trigger_key or turn_id,
        holder=turn_id,
        cooldown=cooldown,
        quota=quota_check(server.quota, occasion, user_id=user_id),
    )


def _cooldown_rule(request: TurnRequest, server: ServerSettings) -> CooldownRule:
    """The channel's, else that of the channel above it, else the server's."""
    if not server.channel_cooldowns:
        return server.cooldown
    rules = dict(server.channel_cooldowns)
    rule = rules.get(request.channel_id) or rules.get(request.parent_channel_id or "")
    return rule or server.cooldown
