"""The plans of servers' routes, as they were last made."""

from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import FallbackEntry, Plan
from turnkeeper.domain.planning import Below, server_attempts
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.domain.turn import TurnRequest

MAX_KNOWN = 10_000

Asked = tuple[object, ...]


class KnownPlans:
    """Plans each server's route once, as long as its settings are the same object.

    Safe to use from several threads, by plain dict reads and writes.

    Args:
        below: A number from 0 to below the given one, at random.
    """

    def __init__(self, below: Below) -> None:
        self._below = below
        self._known: dict[str, tuple[ServerSettings, Asked, Plan]] = {}

    def __call__(
        self, request: TurnRequest, server: ServerSettings, override: FallbackEntry | None
    ) -> Plan:
        """The plan on the server's credentials."""
        if override is not None or server.randomizer:
            return self._planned(request, server, override)
        asked = _asked(request) if server.persona_models or server.channel_models else ()
        known = self._known.get(server.server_id)
        if known is not None and known[0] is server and known[1] == asked:
            return known[2]
        plan = self._planned(request, server, None)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[server.server_id] = server, asked, plan
        return plan

    def _planned(
        self, request: TurnRequest, server: ServerSettings, override: FallbackEntry | None
    ) -> Plan:
        attempts = server_attempts(request, server, override, self._below)
        return Plan(route=Route.SERVER, attempts=attempts)


def _asked(request: TurnRequest) -> Asked:
    """What of the request decides which model comes first, where some have their own."""
    where = request.channel_id, request.parent_channel_id
    return request.is_impersonation, request.persona.id, *where
