"""The library as a host sees it: build it once, call it from any thread."""

import logging
from collections.abc import Callable
from os import urandom
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from turnkeeper.application.ports.sink import Sink
from turnkeeper.application.recorder import Listener, Recorder
from turnkeeper.application.sweep_orphans import nobody_told
from turnkeeper.application.sweep_report import SweepReport
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import Closed, SettingsError
from turnkeeper.domain.events import Entry
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.interfaces.container import Container, built, shut_down
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.telemetry import WsgiApp, app_of

if TYPE_CHECKING:
    from turnkeeper.application.configure import Configure

DRAIN_S = 30.0
SETTLE_S = 10.0
"""How long turns that were stopped may take to end, beyond what an abandoned stream gets."""

log = logging.getLogger("turnkeeper")


class Turnkeeper:
    """Runs turns. Make one with `open`; it ends with its `with` block, or with `close`.

    Safe to use from several threads.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
        self._running = container.running()
        self._run_turn = container.run_turn()
        self._heartbeat = container.heartbeat()
        self._signals = container.signals()
        self._journal = container.journal()
        self._clock = container.clock()
        self._sweeper = container.sweeper()
        self._listeners = tuple(map(_unharmed, container.listeners()))
        self._closing = Lock()  # guards the one below; whoever comes second waits for the first
        self._is_closed = False

    @classmethod
    def open(cls, settings: Settings | None = None, **overrides: object) -> Self:
        """Migrate the database, start or join the embedded one, and be ready for turns.

        Args:
            settings: What the environment says, if None.
            overrides: Adapters to use in place of the built-in ones, by their names in
                `interfaces.container`, such as ``dice``, ``channel_reader`` or ``on_lost_turn``.

        Raises:
            SettingsError: A setting makes no sense.
            StoreError: The database cannot be reached or migrated.
        """
        container = built(settings or Settings(), overrides)
        try:
            container.schema()
            container.keep_measures().load()
            keeper = cls(container)
            container.sweeper().start()
            return keeper
        except BaseException:
            shut_down(container)
            raise

    def run(
        self,
        request: TurnRequest,
        sink: Sink,
        *,
        on_event: Callable[[Entry], None] | None = None,
        turn_id: str | None = None,
    ) -> TurnResult:
        """Run one turn to its end, on this thread.

        A turn that was run before (of the same trigger, persona and retry) ends as it did then;
        its text comes back only where `keep_text` is set.

        Args:
            on_event: Called with each event as it happens, from several threads.
            turn_id: The id to run it under; a new one if None.

        Raises:
            Busy: As many turns as allowed are running, and none ended in time.
            Closed: The turnkeeper was closed.
            AlreadyRunning: The same turn runs elsewhere; nothing was said.
            TurnFailed: It ended without an answer, and only the caller may be told.
            Exception: Whatever `sink.prepare` raised.
        """
        place = (request.server_id, request.channel_id)
        listeners = self._listeners
        if on_event is not None:
            listeners = (*listeners, _unharmed(on_event))
        with self._running.entered(turn_id or urandom(16).hex(), place) as turn:
            self._heartbeat.ensure()
            forget = self._signals.watch(turn.turn_id, turn.mailbox.put)
            try:
                turn.recorder = recorder = Recorder(turn.turn_id, self._clock, listeners)
                return self._run_turn(request, sink, recorder=recorder, mailbox=turn.mailbox)
            finally:
                forget()

    def stop(self, turn_id: str) -> bool:
        """Stop a turn, in whatever process it runs; False if it does not run."""
        return self._signal(turn_id, Signal.STOP_REQUESTED)

    def stop_channel(self, server_id: str, channel_id: str) -> tuple[str, ...]:
        """Stop all turns that speak in a channel, those here first; returns their ids."""
        here = tuple(filter(self.stop, self._running.within((server_id, channel_id))))
        self._check_open()
        elsewhere = set(self._signals.running_in(server_id, channel_id)) - set(here)
        return (*here, *filter(self.stop, sorted(elsewhere)))

    def follow_up(self, turn_id: str) -> bool:
        """Say that the user went on talking: the turn ends, and what it has shown stays."""
        return self._signal(turn_id, Signal.FOLLOW_UP_REQUESTED)

    @property
    def configure(self) -> "Configure":
        """All that servers and users can set."""
        self._check_open()
        return self._container.configure()

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the turns that run in this process, oldest first."""
        return self._running.ids

    def events(self, turn_id: str) -> tuple[Entry, ...]:
        """What happened in a turn, in order; none if there is no such turn."""
        self._check_open()
        self._heartbeat.flush()
        return self._journal.entries(turn_id)

    def recent(self, limit: int = 20) -> tuple[str, ...]:
        """The ids of the latest turns, newest first."""
        self._check_open()
        self._heartbeat.flush()
        return self._journal.recent(limit)

    def sweep(
        self, told: Callable[[int], None] = nobody_told, *, at_once: bool = True
    ) -> SweepReport:
        """Sweep up after turns whose process died, now; says what was found.

        It is also done when a turnkeeper opens, and each `sweep_every_s`.

        Args:
            told: Called after each turn with how many are swept by then.
            at_once: Or the processes of turns that seem dead first get twelve seconds to say that
                they live, as they always do where it is done by itself. After a time without the
                store all turns seem dead.

        Raises:
            StoreError: The store is away.
        """
        self._check_open()
        return self._sweeper(told, at_once=at_once)

    def discord_sink(self) -> Sink:
        """A sink for one turn in Discord, as the bot whose token is set.

        Raises:
            SettingsError: No token is set.
        """
        from turnkeeper.infrastructure.discord.sink import DiscordSink

        self._check_open()
        return DiscordSink(self._container.discord_bot())

    def metrics_app(self) -> WsgiApp:
        """A WSGI app that shows Prometheus this process's metrics, at every path.

        Raises:
            SettingsError: The metrics are off.
        """
        self._check_open()
        settings = self._container.settings()
        if not settings.metrics:
            raise SettingsError("the metrics are off; set TURNKEEPER_METRICS=true")
        return app_of(self._container.metrics_registry())

    def close(self, drain_s: float = DRAIN_S) -> None:
        """Take no new turns, let the running ones end, stop the rest, and give everything back.

        A second call does nothing.

        Args:
            drain_s: How long the running turns may still take.
        """
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            self._running.close()
            self._drain(drain_s)
            self._heartbeat.flush()
            shut_down(self._container)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(DRAIN_S if kind is None else 0.0)

    def _drain(self, drain_s: float) -> None:
        if self._running.drained(drain_s):
            return
        for turn_id in self._running.ids:
            self._running.signal(turn_id, Signal.SYSTEM_STOP_REQUESTED)
        settle_s = self._container.settings().limits.settle_s + SETTLE_S
        if not self._running.drained(settle_s):
            log.warning("closed while turns did not end: %s", ", ".join(self._running.ids))

    def _signal(self, turn_id: str, signal: Signal) -> bool:
        if self._running.signal(turn_id, signal):
            return True
        self._check_open()
        return self._signals.send(turn_id, signal)

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed("the turnkeeper was closed")


def _unharmed(on_event: Listener) -> Listener:
    """A listener; a bug in it is logged, and does not end the turn."""

    def listen(entry: Entry) -> None:
        try:
            on_event(entry)
        except Exception:
            log.exception("a listener failed for %s", type(entry.event).__name__)

    return listen
