"""Runs one turn and writes down all that is seen of it."""

from collections.abc import Callable, Sequence
from secrets import token_hex

from turnkeeper.application.ports.runner import Runner, StillRunning
from turnkeeper.domain.contract import Bounds, breaches
from turnkeeper.domain.events import Entry, MessageStuck
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.redact import redact
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.hurry import HurriedClock
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.interfaces.crashtest.observed import Call, Caller, Observed, Provider
from turnkeeper.interfaces.crashtest.place import Place
from turnkeeper.interfaces.crashtest.score import HANGS_AFTER_S
from turnkeeper.interfaces.crashtest.street import House


@frozen
class Watch:
    """Runs turns on a clock, and gives up those that hang.

    Attributes:
        clock: The one that the turns run on.
        runner: Whose waits are on that clock too.
    """

    clock: HurriedClock
    runner: Runner

    def observed(
        self, house: House, place: Place, *, keep: Callable[[TurnResult], None] = lambda _: None
    ) -> Observed:
        """Run one turn of a house in a place.

        Args:
            keep: Called with the result, where there is one.
        """
        began_s, turn_id = self.clock.monotonic(), token_hex(16)
        before = len(house.of_primary), len(house.of_fallback)
        request = house.request(**place.asked)
        work = self.runner.start(
            lambda stop: house.ran(request, place.sink(), turn_id=turn_id), "crash-test"
        )
        entries: tuple[Entry, ...] = ()
        try:
            result, entries = work.result(HANGS_AFTER_S)
            keep(result)
            caller = self._caller(house, result, began_s)
        except StillRunning:
            house.keeper.stop(turn_id)
            caller = Caller(took_s=self.clock.monotonic() - began_s)
        except Exception as error:  # noqa: BLE001 - whatever a turn raises is what is looked for
            raised = f"{type(error).__name__}: {redact(str(error))}"
            caller = Caller(took_s=self.clock.monotonic() - began_s, raised=raised)
        return Observed(
            caller=caller,
            provider=self._provider(house, before, began_s),
            channel=replace(place.look(), stuck=_stuck(entries)),
            breaches=_broken(house, entries) if entries else (),
            entries=entries,
        )

    def _caller(self, house: House, result: TurnResult, began_s: float) -> Caller:
        used = result.usage
        return Caller(
            took_s=self.clock.monotonic() - began_s,
            status=result.status,
            answered_by=house.winner(result),
            text=result.text,
            failures=tuple(failed.failure.kind for failed in result.failures),
            used_tokens=(used.input_tokens or 0, used.output_tokens or 0) if used else None,
        )

    def _provider(self, house: House, before: tuple[int, int], began_s: float) -> Provider:
        calls = house.of_primary[before[0] :]
        return Provider(
            primary=tuple(self._call(seen, began_s) for seen in calls),
            fallback_calls=len(house.of_fallback) - before[1],
        )

    def _call(self, seen: Seen, began_s: float) -> Call:
        at_s = self.clock.of_machine(seen.at_s) - began_s
        return Call(at_s=at_s, size_bytes=len(seen.raw), key=seen.key or "")


def _stuck(entries: Sequence[Entry]) -> int:
    stuck = [one.event.message_id for one in entries if isinstance(one.event, MessageStuck)]
    return len(set(stuck))


def _broken(house: House, entries: tuple[Entry, ...]) -> tuple[str, ...]:
    policy = house.policy
    bounds = Bounds(max_keys=policy.max_keys, max_invocations=policy.max_invocations)
    return tuple(f"{breach.rule}: {breach.what}" for breach in breaches(entries, bounds))
