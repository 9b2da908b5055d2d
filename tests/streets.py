"""The streets of the crash test, for tests: with a clock that can be put forward."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.model import Capabilities
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.replay import replayed
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.fault import Verdict, Who
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.crashtest import street as crashtest
from turnkeeper.interfaces.crashtest.street import FALLBACK, QUESTION, SPARE, TEXTS
from turnkeeper.interfaces.crashtest.ways import WAYS, Way

__all__ = [
    "FALLBACK", "QUESTION", "SAID", "SERVER", "SPARE", "TEXTS", "WAYS", "House", "ShiftedClock",
    "Street", "Way",
]  # fmt: skip

SERVER = Owner.server("guild")
SAID = ("system", "systemInstruction", "messages", "contents")


class ShiftedClock(SystemClock):
    """The machine's clock, some time ahead."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead_s

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead_s)

    def advance(self, seconds: float) -> None:
        self._ahead_s += seconds


class Street(crashtest.Street):
    """A street on a shifted clock."""

    clock: ShiftedClock

    def __init__(self, way: Way, wall: Wall, http: HttpClient, folder: Path) -> None:
        super().__init__(way, wall, http, folder, clock=ShiftedClock())


class House(crashtest.House):
    """A house that looks at each turn."""

    street: Street

    def __init__(
        self,
        street: Street,
        limits: TimeLimits,
        can: Mapping[str, Capabilities] = MappingProxyType({}),
    ) -> None:
        super().__init__(street, limits, can)
        self.sink = MemorySink()

    def run(self, conversation: Conversation = QUESTION) -> TurnResult:
        self.sink = MemorySink()
        result, entries = self.ran(self.request(conversation), self.sink)
        assert breaches(entries) == ()
        assert replayed(entries).differences == ()
        return result

    def answerer(self) -> Who | None:
        """Whose answer a turn gets, whole."""
        winner = self.winner(self.run())
        assert self.sink.channel.text == TEXTS[winner]
        return winner

    def verdict(self, result: TurnResult) -> Verdict:
        """What was to be seen: in the result, in the channel, and by the provider."""
        winner = self.winner(result)
        sizes = [len(seen.raw) for seen in self.calls(self.primary)]
        assert self.sink.channel.text == result.text == TEXTS[winner]
        return Verdict(
            answered_by=winner,
            primary_calls=len(sizes),
            fallback_calls=len(self.calls(FALLBACK)),
            failures=tuple(failed.failure.kind for failed in result.failures),
            status=result.status,
            takes_back=self.sink.channel.deleted != (),
            shrinks=len(sizes) > 1 and sizes == sorted(set(sizes), reverse=True),
        )
