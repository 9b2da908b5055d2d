"""A scorecard that cannot fail says nothing: turnkeepers that are broken on purpose are found."""

from collections.abc import Callable, Iterator

import pytest

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import Finished, FinishReason, StreamEvent, StreamFailed, TextDelta
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.behaviour import CommentsOnly
from turnkeeper.infrastructure.wall.fault import Bounds, Fault, Outage, Verdict
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.interfaces.crashtest import provider_faults
from turnkeeper.interfaces.crashtest.ground import BuiltInStreet, Ground
from turnkeeper.interfaces.crashtest.place import MemoryPlace
from turnkeeper.interfaces.crashtest.score import Grade, Score, score
from turnkeeper.interfaces.crashtest.street import SPARE, Street
from turnkeeper.interfaces.crashtest.ways import Way
from turnkeeper.interfaces.providers import providers_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SPEED = 20.0
Break = Callable[[Iterator[StreamEvent]], Iterator[StreamEvent]]


class Broken(ChatProvider):
    """Another provider, whose events somebody tampers with."""

    def __init__(self, provider: ChatProvider, tamper: Break) -> None:
        self._provider = provider
        self._tamper = tamper

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        return self._tamper(self._provider.stream(call, key=key, stop=stop, deadline=deadline))


def gullible(events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
    """A cut stream is taken for a whole one."""
    has_text = False
    for event in events:
        has_text = has_text or isinstance(event, TextDelta)
        is_cut = isinstance(event, StreamFailed) and has_text
        yield Finished(reason=FinishReason.STOP) if is_cut else event


def stammering(events: Iterator[StreamEvent]) -> Iterator[StreamEvent]:
    """All text comes twice."""
    for event in events:
        yield event
        if isinstance(event, TextDelta):
            yield event


class BrokenGround(Ground):
    """A ground whose providers are tampered with, or whose limits are other ones."""

    def __init__(self, tamper: Break = lambda events: events, **limits: float) -> None:
        super().__init__(speed=SPEED)
        self._tamper = tamper
        self._limits = limits

    def _opened(self, way: Way) -> Street:
        tamper, limits = self._tamper, self._limits

        class BrokenStreet(BuiltInStreet):
            def _settings(self, _: TimeLimits) -> Settings:
                return super()._settings(_).model_copy(update=limits)

            def _opened(self, _: TimeLimits) -> Turnkeeper:
                settings = self._settings(_)
                providers = providers_of(settings, self._http, self.clock)
                broken = Broken(providers.find(self.way.name), tamper)
                for name in (self.way.name, SPARE):
                    providers.register(name, broken)
                return Turnkeeper.open(
                    settings, clock=self.clock, chat_providers=providers, **self._others
                )

        return BrokenStreet(
            way, self.wall(way), self.http, self.folder, clock=self.clock, runner=self.runner
        )


def graded(ground: Ground, fault_id: str) -> Score:
    (fault,) = (one for one in FAULTS if one.id == fault_id)
    with ground:
        if isinstance(fault, Outage):
            return provider_faults.gone_through(ground, fault, "openai")[0]
        return provider_faults.met(ground, fault, "openai")[0]


@pytest.mark.parametrize("fault_id", ["S08", "S14"])
def test_a_cut_answer_that_is_taken_for_a_whole_one_is_a_fail(fault_id: str) -> None:
    got = graded(BrokenGround(gullible), fault_id)

    assert got.grade is Grade.FAIL
    assert "truncated" in got.why[0]


def test_an_answer_that_is_not_what_was_said_is_a_fail() -> None:
    assert graded(BrokenGround(stammering), "S03").grade is Grade.FAIL


def test_a_turn_that_waits_for_a_silent_provider_for_ever_is_a_fail() -> None:
    patient = BrokenGround(first_progress_s=1000.0, silence_ms=1_000_000)

    got = graded(patient, "S06")

    assert (got.grade, got.why) == (Grade.FAIL, ("no end within 120 s",))


def test_a_turn_that_waits_for_a_late_first_word_is_partial() -> None:
    got = graded(BrokenGround(first_progress_s=1000.0), "S07")

    assert (got.grade, got.counts_as_passed) == (Grade.PARTIAL, False)
    assert got.why == ("answered by the primary, not by the fallback",)


class Hoarder(MemorySink):
    """Says that it took back what it keeps."""

    def take_back(self, delivery: Delivery) -> bool:
        return True


def test_what_is_left_in_the_channel_is_a_fail() -> None:
    (fault,) = (one for one in FAULTS if one.id == "S08")
    assert isinstance(fault, Fault)
    with Ground(speed=SPEED) as ground:
        house = ground.house("openai")
        house.script(fault.met_by_primary("openai"), fault.fallback)

        seen = ground.watch.observed(house, MemoryPlace(sink=Hoarder()))

    got = score(fault, seen, ground.content_filter)
    assert got.grade is Grade.FAIL
    assert got.why[0] == "1 truncated messages stand in the channel"


class Mute(MemorySink):
    """Says nothing of errors."""

    def emit_stream_result(self, *_: object) -> None: ...
    def emit_error(self, *_: object) -> None: ...


class MutePlace(MemoryPlace):
    def sink(self) -> Sink:
        return Mute()


def test_an_error_of_which_nobody_is_told_is_a_fail() -> None:
    (fault,) = (one for one in FAULTS if one.id == "S04")
    assert isinstance(fault, Fault)
    with Ground(speed=SPEED) as ground:
        house = ground.house("openai")
        house.script(fault.met_by_primary("openai"), fault.met_by_primary("openai"))

        seen = ground.watch.observed(house, MutePlace())

    assert score(fault, seen, ground.content_filter).grade is Grade.FAIL


def test_a_new_fault_is_a_few_lines_and_met_like_any_other() -> None:
    fault = Fault(
        id="S17",
        name="comments and no answer",
        primary=(CommentsOnly(every_s=5.0),),
        verdict=Verdict(answered_by="fallback", fallback_calls=1),
        bounds=Bounds(within_s=60.0),
    )
    with Ground(speed=SPEED) as ground:
        got, seen = provider_faults.met(ground, fault, "anthropic")

    assert got == Score(grade=Grade.PASS)
    assert seen is not None
    assert len(seen.provider.primary) == 1
