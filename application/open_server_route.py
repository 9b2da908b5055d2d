"""Asks the server for its models, once the planned ones have failed: admission first."""

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.plan_turn import PlanTurn, admission_check
from turnkeeper.application.ports.dice import Dice
from turnkeeper.application.ports.turn_store import TurnStore
from turnkeeper.domain.admission import RefusalKind, Refused
from turnkeeper.domain.answers import RouteFailed, RouteOpened, RouteRefused
from turnkeeper.domain.errors import StoreError, TurnkeeperError
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Plan, RestScope
from turnkeeper.domain.planning import renumbered, server_attempts
from turnkeeper.domain.redact import redact
from turnkeeper.domain.turn import TurnRequest

RouteAnswer = RouteOpened | RouteRefused | RouteFailed


class OpenServerRoute:
    """Admits a turn to the server's models and plans them. Nothing of it happens earlier."""

    def __init__(
        self, *, known: KnownSettings, turns: TurnStore, plan: PlanTurn, dice: Dice
    ) -> None:
        self._known = known
        self._turns = turns
        self._plan = plan
        self._dice = dice

    def __call__(
        self, request: TurnRequest, turn_id: str, *, start_no: int, rests: frozenset[RestScope]
    ) -> RouteAnswer:
        """The server's attempts, or why there are none. Never raises for what can go wrong."""
        try:
            return self._asked(request, turn_id, start_no, rests)
        except StoreError as error:
            refusal = Refused(kind=RefusalKind.STORE, cause=redact(str(error)))
            return RouteRefused(kind=RefusalKind.STORE, refusal=refusal)
        except (TurnkeeperError, ValueError) as error:
            return RouteFailed(cause=redact(str(error)))

    def _asked(
        self, request: TurnRequest, turn_id: str, start_no: int, rests: frozenset[RestScope]
    ) -> RouteAnswer:
        server = self._known.server(request.server_id)
        admission = self._turns.admit(admission_check(request, server, turn_id))
        if isinstance(admission, Refused):
            said = admission.already_said
            return RouteRefused(kind=admission.kind, already_said=said, refusal=admission)
        planned = server_attempts(request, server, self._plan.override(request), self._dice.below)
        lent = self._plan.transformed(Plan(route=Route.SERVER, attempts=planned), request)
        attempts = renumbered(lent.attempts, start_no)
        resting = frozenset(a.number for a in attempts if a.rest_scope in rests)
        return RouteOpened(attempts=attempts, reservation=admission.reservation, resting=resting)
