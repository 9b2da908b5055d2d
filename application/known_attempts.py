"""The attempts of a server's route, as they were last planned."""

from turnkeeper.domain.plan import Attempt, FallbackEntry
from turnkeeper.domain.planning import Below, server_attempts
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.domain.turn import TurnRequest

MAX_KNOWN = 10_000

Asked = tuple[object, ...]


class KnownAttempts:
    """Plans each server's attempts once, as long as its settings are the same object.

    Safe to use from several threads, by plain dict reads and writes.

    Args:
        below: A number from 0 to below the given one, at random.
    """

    def __init__(self, below: Below) -> None:
        self._below = below
        self._known: dict[str, tuple[ServerSettings, Asked, tuple[Attempt, ...]]] = {}

    def __call__(
        self, request: TurnRequest, server: ServerSettings, override: FallbackEntry | None
    ) -> tuple[Attempt, ...]:
        """The attempts on the server's credentials."""
        if override is not None or server.randomizer:
            return server_attempts(request, server, override, self._below)
        asked = _asked(request, server)
        known = self._known.get(server.server_id)
        if known is not None and known[0] is server and known[1] == asked:
            return known[2]
        attempts = server_attempts(request, server, None, self._below)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[server.server_id] = server, asked, attempts
        return attempts


def _asked(request: TurnRequest, server: ServerSettings) -> Asked:
    """What of the request decides which model comes first."""
    if not server.persona_models and not server.channel_models:
        return ()
    where = request.channel_id, request.parent_channel_id
    return request.is_impersonation, request.persona.id, *where
