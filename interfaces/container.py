"""The one place where all of it is put together. A test builds every provider.

Staging and tests swap an adapter by overriding its provider here, and nowhere else.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dependency_injector.containers import DeclarativeContainer
from dependency_injector.providers import (
    Dependency,
    List,
    Object,
    Resource,
    Selector,
    ThreadSafeSingleton,
)

from turnkeeper.application.conclude_turn import ConcludeTurn
from turnkeeper.application.end_turn import EndTurn
from turnkeeper.application.feed_spool import FeedSpool
from turnkeeper.application.heartbeat import Heartbeat
from turnkeeper.application.keep_measures import KeepMeasures
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.open_server_route import OpenServerRoute
from turnkeeper.application.perform_step import StepTools
from turnkeeper.application.plan_turn import PlanTransformer, PlanTurn
from turnkeeper.application.ports.tools import NoTools
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.run_generation_turn import RunGenerationTurn, TurnRules
from turnkeeper.application.run_invocation import InvocationPorts, RunInvocation
from turnkeeper.application.running_turns import RunningTurns
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.application.sweep_report import OnLostTurn, nobody
from turnkeeper.application.sweeper import Sweeper
from turnkeeper.domain.catalogue import WordBook
from turnkeeper.domain.errors import SettingsError, TurnkeeperError
from turnkeeper.domain.model import Limits
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.dice import SystemDice
from turnkeeper.infrastructure.token_estimator import TokenEstimator
from turnkeeper.interfaces import parts, seldom, telemetry
from turnkeeper.interfaces.settings import Settings

if TYPE_CHECKING:  # the ports are loaded with the adapters that have them
    from turnkeeper.application.ports.channel_reader import ChannelReader
    from turnkeeper.application.ports.journal import Journal
    from turnkeeper.application.ports.key_ring import KeyVault
    from turnkeeper.application.ports.ledger import Ledger
    from turnkeeper.application.ports.notices import Notices
    from turnkeeper.application.ports.old_turns import OldTurns
    from turnkeeper.application.ports.orphans import Orphans
    from turnkeeper.application.ports.reports import Reports
    from turnkeeper.application.ports.settings_editor import SettingsEditor
    from turnkeeper.application.ports.settings_store import SettingsStore
    from turnkeeper.application.ports.signals import Signals
    from turnkeeper.application.ports.standings import Standings
    from turnkeeper.application.ports.token_measures import TokenMeasures
    from turnkeeper.application.ports.tools import Tools
    from turnkeeper.application.ports.turn_history import TurnHistory
    from turnkeeper.application.ports.turn_store import TurnStore
    from turnkeeper.application.ports.user_traces import UserTraces
    from turnkeeper.interfaces.providers import MakeProvider


class Container(DeclarativeContainer):
    """Every shared thing of one turnkeeper, built when it is first asked for."""

    settings = Dependency(instance_of=Settings)
    environment_keys: Object[Mapping[str, Secret]] = Object({})
    own_providers: "Object[Mapping[str, MakeProvider]]" = Object({})
    """By name: what makes a provider that is not built in."""
    token_limits: Object[Mapping[str, Limits]] = Object({})
    """By ``provider:name``: what a host knows of its models' limits, where nobody else does."""
    transformers: Object[tuple[PlanTransformer, ...]] = Object(())
    """A host's own changes to each plan, in this order."""
    on_lost_turn: Object[OnLostTurn] = Object(nobody)
    """A host's own function that is told of each turn that died with its process."""

    # ── the machine ─────────────────────────────────────────────────────────────────────────
    clock = ThreadSafeSingleton(SystemClock)
    dice = ThreadSafeSingleton(SystemDice)
    runner = Resource(parts.open_runner)
    http = Resource(parts.open_http, settings, runner)
    vault = ThreadSafeSingleton(parts.vault_of, settings)
    address_check = ThreadSafeSingleton(parts.address_check_of, settings, runner)
    model_catalogue = ThreadSafeSingleton(parts.catalogue_of, settings, http, clock, runner)
    chat_providers = ThreadSafeSingleton(
        parts.providers_of, settings, http, clock, model_catalogue, address_check, own_providers
    )
    catalogue = ThreadSafeSingleton(WordBook)
    aside = Resource(telemetry.open_aside, runner)

    # ── the store ───────────────────────────────────────────────────────────────────────────
    database_url = Resource(parts.open_database, settings)
    engine = Resource(parts.open_engine, database_url, settings)
    schema = Selector(
        settings.provided.store,
        postgres=ThreadSafeSingleton(parts.migrated, engine),
        memory=Object(()),
    )
    postgres_stores = Resource(parts.open_postgres, engine, vault, runner)
    memory_stores = ThreadSafeSingleton(parts.memory_of, vault, clock)
    stores = Selector(settings.provided.store, postgres=postgres_stores, memory=memory_stores)
    settings_store: "ThreadSafeSingleton[SettingsStore]" = ThreadSafeSingleton(
        attrgetter("settings"), stores
    )
    settings_editor: "ThreadSafeSingleton[SettingsEditor]" = ThreadSafeSingleton(
        attrgetter("editor"), stores
    )
    key_vault: "ThreadSafeSingleton[KeyVault]" = ThreadSafeSingleton(
        attrgetter("key_vault"), stores
    )
    turns: "ThreadSafeSingleton[TurnStore]" = ThreadSafeSingleton(attrgetter("turns"), stores)
    standings: "ThreadSafeSingleton[Standings]" = ThreadSafeSingleton(
        attrgetter("standings"), stores
    )
    ledger: "ThreadSafeSingleton[Ledger]" = ThreadSafeSingleton(attrgetter("ledger"), stores)
    journal: "ThreadSafeSingleton[Journal]" = ThreadSafeSingleton(attrgetter("journal"), stores)
    signals: "ThreadSafeSingleton[Signals]" = ThreadSafeSingleton(attrgetter("signals"), stores)
    notices: "ThreadSafeSingleton[Notices]" = ThreadSafeSingleton(attrgetter("notices"), stores)
    orphans: "ThreadSafeSingleton[Orphans]" = ThreadSafeSingleton(attrgetter("orphans"), stores)
    reports: "ThreadSafeSingleton[Reports]" = ThreadSafeSingleton(attrgetter("reports"), stores)
    old_turns: "ThreadSafeSingleton[OldTurns]" = ThreadSafeSingleton(attrgetter("old"), stores)
    history: "ThreadSafeSingleton[TurnHistory]" = ThreadSafeSingleton(attrgetter("history"), stores)
    traces: "ThreadSafeSingleton[UserTraces]" = ThreadSafeSingleton(attrgetter("traces"), stores)
    spool = Resource(parts.open_spool, settings, clock)
    webhooks = ThreadSafeSingleton(attrgetter("webhooks"), stores)
    discord_bot = Resource(parts.open_bot, settings, clock, runner, notices, webhooks)
    channel_reader: "ThreadSafeSingleton[ChannelReader]" = ThreadSafeSingleton(
        parts.reader_of, settings, discord_bot.provider
    )
    """How channels are looked at outside of turns, to take back what dead ones left there."""
    expire_notices = ThreadSafeSingleton(
        parts.expiry_of, settings, discord_bot.provider, notices, clock
    )
    keys = ThreadSafeSingleton(
        parts.keys_of, stores.provided.keys, key_vault, environment_keys, clock
    )
    known = ThreadSafeSingleton(KnownSettings, settings_store)

    # ── the turn ────────────────────────────────────────────────────────────────────────────
    plan = ThreadSafeSingleton(
        PlanTurn,
        store=settings_store,
        known=known,
        turns=turns,
        dice=dice,
        transformers=transformers,
        serialize=settings.provided.serialize_channels,
    )
    tools: "ThreadSafeSingleton[Tools]" = ThreadSafeSingleton(NoTools)
    """What models may call; a host gives its own `ToolRegistry` in its place."""
    counter = ThreadSafeSingleton(TokenEstimator)
    context = ThreadSafeSingleton(
        PrepareContext,
        output_caps=settings.provided.output_caps,
        catalogue=model_catalogue,
        token_limits=token_limits,
        counter=counter,
        media=ThreadSafeSingleton(parts.media_of, http, address_check, runner),
    )
    invocation = ThreadSafeSingleton(
        RunInvocation,
        ThreadSafeSingleton(
            InvocationPorts,
            providers=chat_providers,
            runner=runner,
            clock=clock,
            context=context,
            windows=ThreadSafeSingleton(parts.windows_of, settings, http, clock, runner),
            tools=tools,
            words=catalogue,
        ),
        limits=settings.provided.limits,
        text_rules=settings.provided.text_rules,
    )
    server_route = ThreadSafeSingleton(
        OpenServerRoute, known=known, turns=turns, plan=plan, dice=dice
    )
    steps = ThreadSafeSingleton(
        StepTools,
        keys=keys,
        turns=turns,
        ledger=ledger,
        providers=chat_providers,
        clock=clock,
        context=context,
        run=invocation,
        open_server_route=server_route,
        unreachable_s=settings.provided.unreachable_s,
        tools=tools,
        spool=spool,
    )
    conclude = ThreadSafeSingleton(ConcludeTurn, catalogue=catalogue, clock=clock)
    settle = ThreadSafeSingleton(
        SettleTurn,
        turns=turns,
        journal=journal,
        spool=spool,
        keep_text=settings.provided.keep_text,
    )
    end = ThreadSafeSingleton(EndTurn, conclude=conclude, settle=settle)
    rules = ThreadSafeSingleton(
        TurnRules,
        policy=settings.provided.policy,
        limits=settings.provided.limits,
        channel_wait_s=settings.provided.channel_wait_s,
    )
    run_turn = ThreadSafeSingleton(RunGenerationTurn, plan=plan, tools=steps, end=end, rules=rules)

    # ── around the turns ────────────────────────────────────────────────────────────────────
    running = ThreadSafeSingleton(
        RunningTurns,
        max_turns=settings.provided.max_turns,
        queue_s=settings.provided.queue_s,
    )
    measures: "ThreadSafeSingleton[TokenMeasures]" = ThreadSafeSingleton(
        attrgetter("measures"), stores
    )
    keep_measures = ThreadSafeSingleton(KeepMeasures, counter=counter, measures=measures)
    feed_spool = ThreadSafeSingleton(
        FeedSpool, spool=spool, orphans=orphans, ledger=ledger, turns=turns
    )
    preview = ThreadSafeSingleton(
        seldom.preview_of,
        store=settings_store,
        keys=key_vault,
        standings=standings,
        plan=plan,
        serialize=settings.provided.serialize_channels,
    )
    pools = ThreadSafeSingleton(seldom.pools_of, keys=key_vault, standings=standings)
    list_turns = ThreadSafeSingleton(seldom.list_turns_of, history=history, editor=settings_editor)
    forget_user = ThreadSafeSingleton(seldom.forget_user_of, traces=traces, known=known)
    prune = ThreadSafeSingleton(seldom.prune_of, old=old_turns)
    metrics_registry = ThreadSafeSingleton(telemetry.new_registry)
    """The Prometheus registry that everything is counted in."""
    counts = ThreadSafeSingleton(
        telemetry.counts_of, metrics_registry, keys=key_vault, aside=aside, clock=clock
    )
    trace_providers: Object[telemetry.Tracers] = Object(telemetry.of_the_host)
    """Gives the tracer provider that gets the spans."""
    listeners = ThreadSafeSingleton(
        telemetry.listeners_of, settings, clock, aside.provider, counts.provider, trace_providers
    )
    """What hears of each event beside the journal; none where all of it is off."""
    sweep = ThreadSafeSingleton(parts.sweep_of, orphans, journal, channel_reader, on_lost_turn)
    sweeper = ThreadSafeSingleton(
        Sweeper,
        feed=feed_spool,
        sweep=sweep,
        runner=runner,
        clock=clock,
        every_s=settings.provided.sweep_every_s,
        on_report=ThreadSafeSingleton(telemetry.on_report_of, settings, counts.provider),
    )
    heartbeat = ThreadSafeSingleton(
        Heartbeat,
        running=running,
        turns=turns,
        settle=settle,
        runner=runner,
        clock=clock,
        also=List(keep_measures.provided.flush, feed_spool.provided.flush, expire_notices),
    )
    answer_press = ThreadSafeSingleton(
        seldom.answer_press_of, notices=notices, signals=signals, catalogue=catalogue, runner=runner
    )
    configure = ThreadSafeSingleton(
        seldom.configure_of,
        store=settings_store,
        editor=settings_editor,
        keys=key_vault,
        providers=chat_providers,
        known=known,
    )


LAST_FIRST = (
    "aside",
    "postgres_stores",
    "runner",
    "discord_bot",
    "spool",
    "http",
    "engine",
    "database_url",
)
"""What is closed, in this order: nothing is closed before what still uses it."""


def built(settings: Settings, overrides: Mapping[str, object]) -> Container:
    """A container with other adapters in the place of some.

    Raises:
        SettingsError: There is no such adapter.
    """
    container = Container(settings=settings)
    for name, adapter in overrides.items():
        if name not in container.providers:
            known = ", ".join(sorted(container.providers))
            raise SettingsError(f"there is nothing called {name!r} to override; there are: {known}")
        container.providers[name].override(adapter)
    return container


def shut_down(container: Container) -> None:
    """Give back what was opened; a part that fails does not keep the others open.

    Raises:
        TurnkeeperError: The first that failed.
    """
    errors: list[TurnkeeperError] = []
    resources: dict[str, Any] = container.providers
    for name in LAST_FIRST:
        try:
            resources[name].shutdown()
        except TurnkeeperError as error:
            errors.append(error)
    if errors:
        raise errors[0]
