"""How telemetry is made of the settings. Its libraries are imported only where it is on."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyVault
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.recorder import Listener
from turnkeeper.application.sweeper import OnReport, nobody
from turnkeeper.interfaces.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from prometheus_client import CollectorRegistry

    from turnkeeper.infrastructure.telemetry.aside import Aside
    from turnkeeper.infrastructure.telemetry.turn_counts import TurnCounts

Tracers = Callable[[], "TracerProvider | None"]
WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Any]


def of_the_host() -> "TracerProvider | None":
    """Spans go where the host's OpenTelemetry sends them."""
    return None


def open_aside(runner: Runner) -> "Iterator[Aside]":
    """What writes beside the turns; what still waits at the end is written first."""
    from turnkeeper.infrastructure.telemetry.aside import Aside

    aside = Aside(runner)
    yield aside
    aside.flush()


def new_registry() -> "CollectorRegistry":
    """A registry of this turnkeeper's own."""
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


def counts_of(
    registry: "CollectorRegistry", keys: KeyVault, aside: "Aside", clock: Clock
) -> "TurnCounts":
    """What counts the turns in the registry, which also shows the keys' states."""
    from turnkeeper.infrastructure.telemetry.dropped import Dropped
    from turnkeeper.infrastructure.telemetry.key_states import KeyStates
    from turnkeeper.infrastructure.telemetry.metrics import Metrics
    from turnkeeper.infrastructure.telemetry.turn_counts import TurnCounts

    registry.register(KeyStates(keys.keys, clock.now))
    registry.register(Dropped(lambda: aside.dropped))
    return TurnCounts(Metrics(registry))


def app_of(registry: "CollectorRegistry", before: Callable[[], object] = lambda: None) -> WsgiApp:
    """Shows the registry, after something was done."""
    from turnkeeper.infrastructure.telemetry.metrics_app import metrics_app

    return metrics_app(registry, before)


def listeners_of(
    settings: Settings,
    clock: Clock,
    aside: Callable[[], "Aside"],
    counts: Callable[[], Listener],
    tracers: Tracers,
) -> tuple[Listener, ...]:
    """A listener for each thing that is switched on."""
    listeners: list[Listener] = []
    if settings.metrics:
        listeners.append(counts())
    if settings.log != "off":
        from turnkeeper.infrastructure.telemetry.event_log import EventLog

        as_json = settings.log == "json"
        listeners.append(
            EventLog(aside=aside(), clock=clock, as_json=as_json, level=settings.log_level)
        )
    if settings.traces:
        from turnkeeper.infrastructure.telemetry.turn_spans import TurnSpans

        listeners.append(TurnSpans(aside=aside(), clock=clock, tracers=tracers()))
    return tuple(listeners)


def on_report_of(settings: Settings, counts: Callable[[], "TurnCounts"]) -> OnReport:
    """Who is told of sweeps."""
    return counts().swept if settings.metrics else nobody
