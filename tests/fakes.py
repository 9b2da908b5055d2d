"""Scripted doubles: a clock that stands still, a provider that says what it is told to."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from threading import Event, Lock
from typing import Generic, TypeVar

from builders import NOON

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.dice import Dice
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.runner import (
    Cancelled,
    Look,
    OwnWork,
    Runner,
    StillRunning,
    Stop,
    Work,
)
from turnkeeper.application.ports.tools import Tools, ToolUse
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
)
from turnkeeper.domain.tools import ToolResult, ToolRules
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.threads import ThreadStop

T = TypeVar("T")


class FrozenClock(Clock):
    """A clock that moves only when it is told to, or waited on."""

    def __init__(self, now: datetime = NOON) -> None:
        self._lock = Lock()  # guards both times
        self._now = now
        self._monotonic = 1000.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self._monotonic

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def wait(self, event: Event, timeout_s: float) -> bool:
        self.waits.append(timeout_s)
        if not event.is_set():
            self.advance(timeout_s)
        return event.is_set()

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._monotonic += seconds
            self._now += timedelta(seconds=seconds)


class LoadedDice(Dice):
    """Dice that fall as they are told."""

    def __init__(self, *rolls: int) -> None:
        self._rolls = list(rolls)

    def below(self, n: int) -> int:
        roll = self._rolls.pop(0) if self._rolls else 0
        assert 0 <= roll < n
        return roll


Script = Callable[[ChatCall, Stop], Iterator[StreamEvent]]


def says(*pieces: str, finish: FinishReason = FinishReason.STOP) -> Script:
    """An answer."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        yield Finished(reason=finish, raw=(finish.value,))

    return script


def fails(kind: FailureKind, *pieces: str, message: str = "", **more: object) -> Script:
    """Some text, then a failure."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        failure = Failure(kind=kind, message=message or kind.value, provider="wall", **more)  # type: ignore[arg-type]
        yield StreamFailed(failure=failure)

    return script


def raises(error: Exception, *pieces: str) -> Script:
    """Some text, then a bug."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        raise error

    return script


def hangs(*pieces: str, until: Event | None = None) -> Script:
    """Some text, then nothing until it is stopped."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        woken = until or Event()
        stop.on_stop(woken.set)
        woken.wait(30)
        stop.check()
        yield Finished(reason=FinishReason.STOP)

    return script


def calls(
    *asked: tuple[str, str], said: str = "", finish: FinishReason = FinishReason.TOOL_CALLS
) -> Script:
    """Some text, then tool calls: pairs of name and arguments."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        if said:
            yield TextDelta(said)
        for index, (name, arguments) in enumerate(asked):
            yield ToolCallDelta(index=index, call_id=f"c{index}", name=name, arguments=arguments)
        yield Finished(reason=finish)

    return script


RunTool = Callable[[str, ToolUse], ToolResult]


class ScriptedTools(Tools):
    """Tools that do what they are told to, and remember what they were called with."""

    def __init__(self, rules: dict[str, ToolRules] | None = None, **tools: RunTool) -> None:
        self._lock = Lock()  # guards the list
        self._rules = rules or {}
        self._tools = tools
        self.ran: list[tuple[str, str]] = []

    def offered(self, request: TurnRequest) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(name=name) for name in self._tools)

    def rules(self, name: str) -> ToolRules:
        return self._rules.get(name, ToolRules())

    def run(self, name: str, arguments_json: str, use: ToolUse) -> ToolResult:
        with self._lock:
            self.ran.append((name, arguments_json))
        return self._tools[name](arguments_json, use)


class ScriptedProvider(ChatProvider):
    """Says what its script for the model says, one script a call; the last one repeats."""

    def __init__(self, **scripts: Script | list[Script]) -> None:
        self._lock = Lock()  # guards the scripts and the calls
        self._scripts: dict[str, list[Script]] = {}
        self.rewrite(**scripts)
        self.calls: list[tuple[str, str | None]] = []
        self.seen: list[ChatCall] = []

    def rewrite(self, **scripts: Script | list[Script]) -> None:
        """Put other scripts in the place of those of these models."""
        with self._lock:
            for name, script in scripts.items():
                self._scripts[name] = list(script) if isinstance(script, list) else [script]

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        with self._lock:
            self.calls.append((call.model.name, key.reveal() if key else None))
            self.seen.append(call)
            scripts = self._scripts[call.model.name]
            script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        yield from script(call, stop)


class HeedingProvider(ScriptedProvider):
    """One whose scripts end once they are stopped, so that the turn's own thread may ask it."""

    heeds_stop = True


class OneProvider(Providers):
    """The same provider under every name but ``nowhere`` and ``unknown``."""

    def __init__(self, provider: ChatProvider) -> None:
        self._provider = provider

    def find(self, name: str) -> ChatProvider:
        if name in {"nowhere", "unknown"}:
            raise SettingsError(f"there is no provider {name!r}; there are: wall")
        return self._provider

    def canonical(self, name: str) -> str:
        self.find(name)
        return name.strip().lower()


class Stalled(Exception):
    """Nothing more comes from a script; only an `InlineRunner` understands it.

    Args:
        settles: Whether it ends once it is stopped.
    """

    def __init__(self, *, settles: bool = True) -> None:
        super().__init__("the script stalls")
        self.settles = settles


def stalls(*pieces: str, settles: bool = True) -> Script:
    """Some text, then nothing."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        for piece in pieces:
            yield TextDelta(piece)
        raise Stalled(settles=settles)

    return script


def hears(mailbox: Mailbox, signal: Signal, then: Script) -> Script:
    """The same script, but a signal comes behind its first event."""

    def script(call: ChatCall, stop: Stop) -> Iterator[StreamEvent]:
        events = then(call, stop)
        yield next(events)
        mailbox.put(signal)
        yield from events

    return script


class InlineWork(Work[T], Generic[T]):
    """Work that is done by whoever waits for it; waiting for one that stalls lets time pass."""

    def __init__(self, work: Callable[[Stop], T], clock: FrozenClock) -> None:
        self.stop = ThreadStop()
        self._work = work
        self._clock = clock
        self._values: list[T] = []
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        return bool(self._values) or (self._error is not None and not self._is_stuck)

    def run(self) -> None:
        if self._values or self._error is not None:
            return
        try:
            self._values.append(self._work(self.stop))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asks for the result
            self._error = error

    def result(self, timeout_s: float | None) -> T:
        self.run()
        if self._is_stuck:
            assert timeout_s is not None, "this work would be waited for in vain"
            self._clock.advance(timeout_s)
            raise StillRunning("it stalls")
        if isinstance(self._error, Stalled):
            raise Cancelled("it stalled and was stopped")
        if self._error is not None:
            raise self._error
        return self._values[0]

    def abandon(self, settle_s: float) -> bool:
        if not self.done:
            self.stop.set()
        return self.done

    @property
    def _is_stuck(self) -> bool:
        error = self._error
        return isinstance(error, Stalled) and not (error.settles and self.stop.is_set)


class InlineRunner(Runner):
    """Runs invocations in the thread that waits for them, and all other work at once."""

    def __init__(self, clock: FrozenClock) -> None:
        self._clock = clock

    @property
    def running(self) -> int:
        return 0

    def start(self, work: Callable[[Stop], T], name: str) -> InlineWork[T]:
        started = InlineWork(work, self._clock)
        if not name.startswith("invocation"):
            started.run()
        return started

    def here(self, work: Callable[[Stop], T], look: Look, *, first_look_s: float) -> OwnWork[T]:
        raise AssertionError("time stands still here, so nothing is looked after")

    def close(self) -> None:
        """There is nothing to end."""
