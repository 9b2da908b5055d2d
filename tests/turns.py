"""A whole turn in memory: every port real or scripted, each journal checked by the contract."""

from collections.abc import Callable
from uuid import uuid4

from builders import SERVER, USER, a_model, a_request
from fakes import FrozenClock, LoadedDice, OneProvider, ScriptedProvider

from turnkeeper.application.conclude_turn import ConcludeTurn
from turnkeeper.application.end_turn import EndTurn
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.open_server_route import OpenServerRoute
from turnkeeper.application.perform_step import StepTools
from turnkeeper.application.plan_turn import PlanTransformer, PlanTurn
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.settings_store import SettingsStore
from turnkeeper.application.ports.tools import NoTools, Tools
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.run_generation_turn import RunGenerationTurn, TurnRules
from turnkeeper.application.run_invocation import InvocationPorts, RunInvocation
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.domain.catalogue import WordBook
from turnkeeper.domain.contract import Bounds, breaches
from turnkeeper.domain.events import Entry, Event
from turnkeeper.domain.model import Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ToolPolicy
from turnkeeper.domain.replay import replayed
from turnkeeper.domain.rotation import KeyHealth, KeyId
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.vault import AesGcmVault

VAULT = AesGcmVault(MasterSecrets(current=1, by_version=((1, Secret("0123456789abcdef" * 4)),)))


class FixedSettings(SettingsStore):
    """Settings as given; counts what is read."""

    def __init__(
        self, server: ServerSettings, personal: PersonalSettings, models: tuple[Model, ...] = ()
    ) -> None:
        self.now_server = server
        self.now_personal = personal
        self._models = {model.id: model for model in models}
        self.server_reads = 0

    def server(self, server_id: str) -> ServerSettings:
        self.server_reads += 1
        return self.now_server

    def personal(self, user_id: str) -> PersonalSettings:
        return self.now_personal

    def find_model(self, text: str) -> Model | None:
        return self._models.get(text)

    def version_of(self, owner: Owner) -> int:
        settings = self.now_server if owner == SERVER else self.now_personal
        return settings.version


def a_server(*names: str, **more: object) -> ServerSettings:
    """A server whose models have these names, the first of them primary."""
    entries: list[FallbackEntry] = [ModelEntry(model=a_model(name)) for name in names]
    settings: dict[str, object] = {
        "server_id": SERVER.id,
        "primary": entries[0] if entries else None,
        "chain": tuple(entries[1:]),
        **more,
    }
    return ServerSettings(**settings)  # type: ignore[arg-type]


def a_user(*names: str, randomizer: bool = False, **more: object) -> PersonalSettings:
    """A user whose own models have these names; without names the user has no route."""
    row = SavedProvider(
        provider="wall",
        model=a_model(names[0]) if names else None,
        text_enabled=True,
        randomizer=randomizer,
    )
    chain = tuple(ModelEntry(model=a_model(name)) for name in names[1:])
    return PersonalSettings(user_id=USER.id, providers=(row,), chain=chain, **more)  # type: ignore[arg-type]


class Bench:
    """Runs turns and looks at what became of them."""

    def __init__(
        self,
        provider: ScriptedProvider,
        *,
        server: ServerSettings | None = None,
        user: PersonalSettings | None = None,
        server_keys: int = 1,
        user_keys: int = 1,
        rules: TurnRules = TurnRules(),
        clock: Clock | None = None,
        dice: LoadedDice | None = None,
        models: tuple[Model, ...] = (),
        transformers: tuple[PlanTransformer, ...] = (),
        runner: Runner | None = None,
        turn_store: type[MemoryTurnStore] = MemoryTurnStore,
        tools: Tools = NoTools(),
        tool_policy: ToolPolicy = ToolPolicy(),
        text_rules: TextRules = TextRules(),
    ) -> None:
        self.provider = provider
        self.clock = clock or FrozenClock()
        self.rules = rules
        self.keys = MemoryKeyRing(vault=VAULT, clock=self.clock)
        self.settings = FixedSettings(server or a_server("alpha", "beta"), user or a_user(), models)
        self.runner = runner or ThreadRunner(settle_s=0.5)
        self.turn_store = turn_store
        self.tools, self.tool_policy, self.text_rules = tools, tool_policy, text_rules
        self.recorder = Recorder("none", self.clock)
        self.server_keys = self._save(SERVER, "s", server_keys)
        self.user_keys = self._save(USER, "u", user_keys)
        self._wire(dice or LoadedDice(), transformers)

    def _save(self, owner: Owner, letter: str, count: int) -> list[KeyId]:
        return [
            self.keys.add(owner, "wall", Secret(f"sk-{letter}{n}")) for n in range(1, count + 1)
        ]

    def _wire(self, dice: LoadedDice, transformers: tuple[PlanTransformer, ...]) -> None:
        register = Register(self.clock)
        self.journal = MemoryJournal()
        self.ledger = MemoryLedger(register, journal=self.journal)
        self.turns = self.turn_store(
            register,
            ledger=self.ledger,
            keys=self.keys,
            version_of=self.settings.version_of,
        )
        known = KnownSettings(self.settings)
        plan = PlanTurn(
            store=self.settings,
            known=known,
            turns=self.turns,
            dice=dice,
            transformers=transformers,
        )
        context = PrepareContext()
        providers = OneProvider(self.provider)
        ports = InvocationPorts(
            providers=providers,
            runner=self.runner,
            clock=self.clock,
            context=context,
            tools=self.tools,
            words=WordBook(),
        )
        run = RunInvocation(
            ports,
            limits=self.rules.limits,
            tool_policy=self.tool_policy,
            text_rules=self.text_rules,
        )
        tools = StepTools(
            keys=self.keys,
            turns=self.turns,
            ledger=self.ledger,
            providers=providers,
            clock=self.clock,
            context=context,
            run=run,
            open_server_route=OpenServerRoute(known=known, turns=self.turns, plan=plan, dice=dice),
            tools=self.tools,
        )
        self.settle = SettleTurn(turns=self.turns, journal=self.journal)
        conclude = ConcludeTurn(catalogue=WordBook(), clock=self.clock)
        end = EndTurn(conclude=conclude, settle=self.settle)
        self.run_turn = RunGenerationTurn(plan=plan, tools=tools, end=end, rules=self.rules)

    def run(
        self,
        request: TurnRequest | None = None,
        sink: MemorySink | None = None,
        *,
        mailbox: Mailbox | None = None,
        listener: Callable[[Entry], None] | None = None,
    ) -> TurnResult:
        """Run a turn; its journal must keep the contract, whatever it raises."""
        self.sink = sink or MemorySink()
        listeners = (listener,) if listener else ()
        self.recorder = Recorder(uuid4().hex, self.clock, listeners)
        try:
            return self.run_turn(
                request or a_request(user_id=USER.id, trigger_id=uuid4().hex),
                self.sink,
                recorder=self.recorder,
                mailbox=mailbox or Mailbox(),
            )
        finally:
            self.check()

    def check(self) -> None:
        policy = self.rules.policy
        bounds = Bounds(max_keys=policy.max_keys, max_invocations=policy.max_invocations)
        if any(type(event).__name__ == "TurnEnded" for event in self.events):
            assert breaches(self.recorder.entries, bounds) == ()
        again = replayed(self.recorder.entries)
        assert again.differences == (), again

    @property
    def events(self) -> list[Event]:
        return [entry.event for entry in self.recorder.entries]

    def of(self, *names: str) -> list[Event]:
        """The events of these kinds, in order."""
        return [event for event in self.events if type(event).__name__ in names]

    def health(self, key_id: KeyId) -> KeyHealth:
        saved = {one.key.id: one for one in self.keys.keys(None)}
        return saved[key_id].key.health

    def close(self) -> None:
        self.runner.close()


Benches = Callable[..., Bench]
"""Makes benches, and closes them when the test is over."""
