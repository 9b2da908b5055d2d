"""Any settings, keys, answers, signals and troubles: every turn keeps the contract.

The whole stage runs, on memory adapters and a clock that stands still; each journal is checked by
the contract (`Bench.run` does), and what it does not tell is looked at: the channel, the keys, the
quota, the sink.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import pytest
from builders import SERVER, USER, a_model, a_request, an_endpoint
from fakes import FrozenClock, InlineRunner, LoadedDice, ScriptedProvider, Stalled
from hypothesis import given, settings
from hypothesis import strategies as st
from turns import Bench, a_server

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.ports.runner import Runner, Stop
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain import events as ev
from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone, SinkError, TurnFailed
from turnkeeper.domain.failure import CooldownScope, Failure, FailureKind, KeyErrorClass
from turnkeeper.domain.finish import ERROR_LIKE
from turnkeeper.domain.occasion import Audience, Occasion
from turnkeeper.domain.outcome import Origin, TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.plan import BrokenEntry, EndpointEntry, FallbackEntry, ModelEntry
from turnkeeper.domain.policy import ContentFilterPolicy, TimeLimits, TurnPolicy
from turnkeeper.domain.rotation import BookError, KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.settings import PersonalSettings, SavedProvider, ServerSettings
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, StreamFailed, TextDelta
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.threads import ThreadRunner

T = TypeVar("T")

TURN_S = TimeLimits().turn_s
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"


class Trouble(Exception):
    """A bug of a host or a plug-in."""


End = FinishReason | Failure | Exception | None
"""How a stream ends; None is without a word."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """What a provider does when it is asked: some text, perhaps a signal meanwhile, an end."""

    text: str
    signal: Signal | None
    end: End


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One turn, and what happens around it.

    Attributes:
        at: On which event of the journal `comes` comes.
        comes: A signal, or so many seconds that pass.
        sink: What the sink does.
    """

    trigger: int
    audience: Audience
    occasion: Occasion
    at: int
    comes: Signal | float | None
    sink: str


@dataclass(frozen=True, kw_only=True)
class World:
    """What a few turns find.

    Attributes:
        server_models: Where the server's models are, its primary's first.
        user_models: The same for the user's chain; the user's own model is on the wall.
        flags: What is switched on.
        keys: The states of the keys, pool by pool in the order of `POOLS`.
    """

    server_models: tuple[str, ...]
    user_models: tuple[str, ...]
    flags: frozenset[str]
    quota: QuotaRule
    cooldown: CooldownType
    keys: tuple[tuple[str, ...], ...]
    policy: TurnPolicy
    moves: tuple[Move, ...]
    visits: tuple[Visit, ...]
    roll: int

    @property
    def server(self) -> ServerSettings:
        models = entries(self.server_models, "s", SERVER)
        stops = "filter stops" in self.flags
        return a_server(
            primary=models[0] if models else None,
            chain=models[1:],
            randomizer="randomizer" in self.flags,
            member_keys_only="member keys only" in self.flags,
            content_filter=ContentFilterPolicy.STOP if stops else ContentFilterPolicy.NEXT,
            quota=self.quota,
            cooldown=CooldownRule(type=self.cooldown, length_s=60),
        )

    @property
    def user(self) -> PersonalSettings:
        own = SavedProvider(
            provider="wall", model=a_model("u0"), text_enabled="text route" in self.flags
        )
        return PersonalSettings(
            user_id=USER.id,
            providers=(own,),
            chain=entries(self.user_models, "u", USER),
            server_fallback="opted out" not in self.flags,
        )


POOLS = tuple((owner, provider) for owner in (SERVER, USER) for provider in ("wall", "other"))


def entries(places: tuple[str, ...], letter: str, owner: Owner) -> tuple[FallbackEntry, ...]:
    return tuple(_entry(place, f"{letter}{n}", n, owner) for n, place in enumerate(places, 1))


def _entry(place: str, name: str, number: int, owner: Owner) -> FallbackEntry:
    match place:
        case "broken":
            return BrokenEntry(name=name, cause="it is not registered any more")
        case "keyless":
            endpoint = an_endpoint(number, requires_auth=False, label=name)
            return EndpointEntry(endpoint=endpoint, owner=owner)
        case provider:
            return ModelEntry(model=a_model(name, provider))


# ── drawing ─────────────────────────────────────────────────────────────────────────────────


def mostly(usual: T, *others: T) -> st.SearchStrategy[T]:
    """The usual value three times in four."""
    return st.sampled_from([usual] * (3 * len(others)) + list(others))


BY_US = {FailureKind.NO_KEY, FailureKind.UNPREPARABLE, FailureKind.STORE, FailureKind.SINK}
"""What no provider says."""

failures = st.builds(
    Failure,
    kind=st.sampled_from([kind for kind in FailureKind if kind not in BY_US]),
    message=st.just("no"),
    retry_after_s=st.sampled_from([None, 0.0, 2.0, 90.0]),
    affordable_tokens=st.sampled_from([None, 10, 5000]),
)
reasons: st.SearchStrategy[End] = mostly(FinishReason.STOP, *FinishReason)
oddities: st.SearchStrategy[End] = st.sampled_from([None, Trouble("bug")])
stalls: st.SearchStrategy[End] = st.builds(Stalled, settles=st.booleans())
ends = st.one_of(failures, failures, failures, reasons, oddities)
stalling_ends = st.one_of(failures, failures, failures, reasons, stalls, oddities)


def moves(some_ends: st.SearchStrategy[End]) -> st.SearchStrategy[Move]:
    texts = st.sampled_from(["Hello.", LONG, LONG * 2, "", " \n"])
    return st.builds(Move, text=texts, signal=mostly(None, *Signal), end=some_ends)


visits = st.builds(
    Visit,
    trigger=st.integers(0, 9),
    audience=mostly(Audience.PERSON, Audience.NOBODY, Audience.CALLER),
    occasion=mostly(
        Occasion(),
        Occasion(is_persona_job=True),
        Occasion(is_self_message=True),
        Occasion(is_dm=True),
        Occasion(is_stop_response=True),
        Occasion(is_reminder=True),
    ),
    at=st.integers(0, 60),
    comes=mostly(None, *Signal, 20.0, 1000.0),
    sink=mostly("plain", "holds", "grows", "keeps", "full", "gone", "sulks"),
)
policies = st.builds(
    TurnPolicy,
    max_keys=st.integers(1, 3),
    max_invocations=st.sampled_from([6, 6, 1, 2, 3]),
    empty_fails_over=mostly(True, False),
    empty_opens_server_route=st.booleans(),
    empty_retries=st.integers(0, 2),
)
key_states = mostly("fit", "resting", "back soon", "to be probed", "refused", "off")
pools = st.tuples(
    *[
        st.lists(key_states, min_size=1 if provider == "wall" else 0, max_size=4).map(tuple)
        for _, provider in POOLS
    ]
)
places = st.lists(
    mostly("wall", "other", "nowhere", "keyless", "broken"), min_size=1, max_size=3
).map(tuple)
flags = st.frozensets(
    mostly("text route", "randomizer", "filter stops", "opted out", "member keys only"),
    max_size=3,
)


def worlds(some_ends: st.SearchStrategy[End]) -> st.SearchStrategy[World]:
    return st.builds(
        World,
        server_models=places,
        user_models=places,
        flags=flags,
        quota=st.builds(QuotaRule, enabled=st.booleans(), daily_per_user=st.integers(0, 2)),
        cooldown=mostly(*CooldownType),
        keys=pools,
        policy=policies,
        moves=st.lists(moves(some_ends), min_size=6, max_size=12).map(tuple),
        visits=st.lists(visits, min_size=1, max_size=3).map(tuple),
        roll=st.integers(0, 3),
    )


# ── acting ──────────────────────────────────────────────────────────────────────────────────

THE_LAST = Failure(kind=FailureKind.OVERLOADED, message="nothing was drawn for this call")


class MovingProvider(ScriptedProvider):
    """Makes the drawn moves one after the other, whatever it is asked; then it fails."""

    def __init__(self, moves: tuple[Move, ...]) -> None:
        super().__init__()
        self._moves = iter(moves)
        self.mailbox = Mailbox()

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        self.calls.append((call.model.name, key.reveal() if key else None))
        move = next(self._moves, Move(text="", signal=None, end=THE_LAST))
        if move.text:
            yield TextDelta(move.text)
        if move.signal is not None:
            self.mailbox.put(move.signal)
        match move.end:
            case FinishReason() as reason:
                yield Finished(reason=reason)
            case Failure() as failure:
                yield StreamFailed(failure=failure)
            case Exception() as error:
                raise error
            case None:
                return


class RollingDice(LoadedDice):
    """Always the same roll, as far as the die has it."""

    def __init__(self, roll: int) -> None:
        super().__init__()
        self._roll = roll

    def below(self, n: int) -> int:
        return self._roll % n


class Stage:
    """A world with turns in it."""

    def __init__(self, world: World, clock: FrozenClock, runner: Runner) -> None:
        self.provider = MovingProvider(world.moves)
        self.turn = Bench(
            self.provider,
            server=world.server,
            user=world.user,
            server_keys=0,
            user_keys=0,
            rules=TurnRules(policy=world.policy, channel_wait_s=0),
            clock=clock,
            runner=runner,
            dice=RollingDice(world.roll),
        )
        self.world = world
        numbers = count(1)
        for (owner, provider), states in zip(POOLS, world.keys, strict=True):
            for state in states:
                self._save(owner, provider, state, next(numbers))

    def _save(self, owner: Owner, provider: str, state: str, number: int) -> None:
        keys = self.turn.keys
        key_id = keys.add(owner, provider, Secret(f"sk-{number}"))
        match state:
            case "off":
                keys.enable(owner, key_id, False)
            case "refused":
                self._book(owner, provider, key_id, CooldownScope.KEY_DISABLED, 0)
            case "resting":
                self._book(owner, provider, key_id, CooldownScope.KEY, 90)
            case "back soon":
                self._book(owner, provider, key_id, CooldownScope.KEY, 2)
            case "to be probed":
                self._book(owner, provider, key_id, CooldownScope.KEY, 0)

    def _book(
        self, owner: Owner, provider: str, key_id: KeyId, scope: CooldownScope, rest_s: float
    ) -> None:
        others = frozenset(saved.key.id for saved in self.turn.keys.keys(None)) - {key_id}
        lease = self.turn.keys.lease(owner, provider, model="", without=others)
        assert isinstance(lease, Lease)
        error = BookError(booked_as=KeyErrorClass.API_ERROR, text="no", scope=scope, rest_s=rest_s)
        self.turn.keys.book(lease, error)

    def run(self, visit: Visit) -> TurnResult | None:
        """Run a turn; None where it was raised to the caller."""
        self.began: list[tuple[Signal | None, bool]] = []
        self.provider.mailbox = mailbox = Mailbox()
        request = a_request(
            user_id=USER.id,
            trigger_id=f"t{visit.trigger}",
            audience=visit.audience,
            occasion=visit.occasion,
        )
        try:
            return self.turn.run(
                request,
                a_sink(visit.sink),
                mailbox=mailbox,
                listener=self._interruption(visit, mailbox),
            )
        except TurnFailed:
            return None

    def _interruption(self, visit: Visit, mailbox: Mailbox) -> Callable[[ev.Entry], None]:
        clock = self.turn.clock
        assert isinstance(clock, FrozenClock)

        def listen(entry: ev.Entry) -> None:
            if isinstance(entry.event, ev.InvocationStarted):
                self.began.append((mailbox.signal, entry.at_s < TURN_S))
            if entry.seq != visit.at:
                return
            if isinstance(visit.comes, Signal):
                mailbox.put(visit.comes)
            elif visit.comes is not None:
                clock.advance(visit.comes)

        return listen


def a_sink(kind: str) -> MemorySink:
    posts = count(1)

    def is_full(text: str) -> None:
        if next(posts) > 1:
            raise SinkError("no more of this")

    def is_gone(text: str) -> None:
        if next(posts) > 1:
            raise DestinationGone("the channel was deleted", code="10003")

    def keeps(text: str) -> None:
        raise SinkError("this stays")

    match kind:
        case "holds":
            return MemorySink(can_take_back=False)
        case "grows":
            return MemorySink(edit_interval_s=0.0)
        case "keeps":
            return MemorySink(take_back_trouble=keeps)
        case "full":
            return MemorySink(trouble=is_full)
        case "gone":
            return MemorySink(trouble=is_gone)
        case "sulks":
            return SulkingSink()
    return MemorySink()


class SulkingSink(MemorySink):
    """Cannot even end without trouble."""

    def finalize(self, result: TurnResult) -> None:
        super().finalize(result)
        raise Trouble("finalize")

    def cleanup(self) -> None:
        super().cleanup()
        raise Trouble("cleanup")


# ── looking ─────────────────────────────────────────────────────────────────────────────────


def look(stage: Stage, visit: Visit, result: TurnResult | None) -> None:
    """What must be true after any turn, beyond its journal."""
    turn = stage.turn
    if result is not None and result.turn_id != turn.recorder.turn_id:
        assert_it_is_told_again(turn, result)
        return
    if not turn.of("TurnStarted") and visit.audience is Audience.CALLER:
        assert_it_is_raised_again(turn)
        return
    (ended,) = turn.of("TurnEnded")
    assert isinstance(ended, ev.TurnEnded)
    assert_the_channel_holds_what_stands(turn, ended)
    if visit.sink == "holds":
        assert_only_a_whole_answer_was_shown(turn, ended)
    assert_people_hear_what_is_for_them(turn, visit, ended)
    assert_nothing_was_thrown(turn)
    assert_every_key_is_its_owners(turn)
    assert_no_key_is_still_lent(turn)
    assert_nothing_begins_too_late(stage)
    assert turn.sink.cleaned_up == 1
    assert turn.sink.finalized == ([] if result is None else [result])


def assert_it_is_told_again(turn: Bench, result: TurnResult) -> None:
    """The same trigger came again: its result is told, and nothing is done."""
    assert (turn.sink.finalized, turn.sink.cleaned_up) == ([result], 1)
    assert (turn.sink.channel.messages, turn.of("InvocationStarted")) == ((), [])


def assert_it_is_raised_again(turn: Bench) -> None:
    """A turn that had failed under impersonation: its caller is told again, nobody else."""
    assert (turn.sink.finalized, turn.sink.cleaned_up) == ([], 1)
    assert turn.sink.channel.messages == ()


def assert_the_channel_holds_what_stands(turn: Bench, ended: ev.TurnEnded) -> None:
    stuck = {event.message_id for event in turn.of("MessageStuck")}  # type: ignore[union-attr]
    origins = {origin.value for origin in Origin}
    there = [m.id for m in turn.sink.channel.messages if m.by in origins]

    assert tuple(one for one in there if one not in stuck) == ended.kept


def assert_only_a_whole_answer_was_shown(turn: Bench, ended: ev.TurnEnded) -> None:
    assert turn.of("MessageTakenBack", "MessageStuck") == []
    assert ended.status == TurnStatus.COMPLETED.value or ended.kept == ()


def assert_nothing_was_thrown(turn: Bench) -> None:
    """A bug of ours would end a turn as it should end, too."""
    effects = [event.effect for event in turn.of("EffectFailed")]  # type: ignore[union-attr]

    assert "turn" not in effects


def assert_people_hear_what_is_for_them(turn: Bench, visit: Visit, ended: ev.TurnEnded) -> None:
    is_failure = TurnStatus(ended.status) in ERROR_LIKE
    audible = visit.audience is Audience.PERSON

    assert len(turn.sink.errors) == (1 if is_failure and audible else 0)
    if not audible:
        assert (turn.sink.notices, turn.sink.told) == ([], [])


def assert_nothing_begins_too_late(stage: Stage) -> None:
    """Neither while a signal waits to be heard, nor after the turn's time."""
    assert set(stage.began) <= {(None, True)}


def assert_no_key_is_still_lent(turn: Bench) -> None:
    lent = {saved.key.id: saved.key.health.in_flight for saved in turn.keys.keys(None)}

    assert [key_id for key_id, times in lent.items() if times] == []


def assert_every_key_is_its_owners(turn: Bench) -> None:
    owners = {saved.key.id: saved.owner for saved in turn.keys.keys(None)}
    attempts = {}
    for event in turn.events:
        if isinstance(event, ev.TurnStarted | ev.ServerRouteAsked):
            attempts.update({attempt.number: attempt for attempt in event.attempts})
        if isinstance(event, ev.InvocationStarted) and event.key_id is not None:
            assert owners[KeyId(event.key_id)] == attempts[event.attempt_no].owner


def assert_no_more_is_charged_than_allowed(stage: Stage, charged: set[str]) -> None:
    quota = stage.world.server.quota
    if quota.limits_anything:
        assert len(charged) <= quota.daily_per_user


def play(world: World, clock: FrozenClock, runner: Runner) -> None:
    stage, charged = Stage(world, clock, runner), set()
    for visit in world.visits:
        result = stage.run(visit)
        look(stage, visit, result)
        for event in stage.turn.of("QuotaSettled"):
            if isinstance(event, ev.QuotaSettled) and event.committed:
                charged.add(event.trigger_key)
    assert_no_more_is_charged_than_allowed(stage, charged)


# Where it fails, it takes a while to find the smallest world in which it does.
@pytest.mark.timeout(600)
@settings(report_multiple_bugs=False)
@given(worlds(stalling_ends))
def test_any_turns_keep_the_contract(world: World) -> None:
    clock = FrozenClock()

    play(world, clock, InlineRunner(clock))


@pytest.fixture(scope="module")
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


# Threads are slow to draw examples with; what they add is seen in fewer.
@pytest.mark.timeout(600)
@settings(max_examples=settings().max_examples // 5, report_multiple_bugs=False)
@given(world=worlds(ends))
def test_any_turns_keep_the_contract_on_threads(world: World, runner: ThreadRunner) -> None:
    play(world, FrozenClock(), runner)
