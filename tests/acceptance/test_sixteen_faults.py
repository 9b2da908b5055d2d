"""The sixteen faults, each as a whole turn through the facade, in every dialect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.events import Entry
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.outcome import StreamResult
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.policy import ContentFilterPolicy, TimeLimits
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.fault import (
    FROM_FALLBACK,
    FROM_PRIMARY,
    PATIENT,
    Family,
    Fault,
    Outage,
    Steps,
    Verdict,
    Who,
)
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.parts import providers_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
FALLBACK = "beta"
SPARE = "spare"
TEXTS = {"primary": FROM_PRIMARY.whole_text, "fallback": FROM_FALLBACK.whole_text, None: ""}
SAID = ("system", "systemInstruction", "messages", "contents")

QUESTION = Conversation(
    items=(
        Item.said(Role.SYSTEM, "You keep a lighthouse.", None),
        *(
            Item.said(role, f"Word {number} of a long evening. " * 12)
            for number in range(1, 7)
            for role in (Role.USER, Role.MODEL)
        ),
        Item.said(Role.USER, "What does a keeper do when the lamp goes out?"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A provider whose address is the wall's, what the wall speaks there, and its first model."""

    name: str
    family: Family
    dialect: Dialect
    path: str
    primary: str = "alpha"


WAYS = (
    Way(name="openai", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(name="custom", family="openai", dialect=OpenAiDialect(), path="/v1"),
    Way(
        name="openrouter",
        family="openrouter",
        dialect=OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning"),
        path="/api/v1",
    ),
    Way(name="google", family="google", dialect=GeminiDialect(), path="/v1beta"),
    Way(name="anthropic", family="anthropic", dialect=AnthropicDialect(), path="/v1"),
    Way(
        name="novelai",
        family="openai",
        dialect=OpenAiDialect(base_path="/oa/v1"),
        path="",
        primary="xialong-v1",  # whose window is the same for all, so that nobody is asked for it
    ),
)


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


class Street:
    """The wall where one way leads, and turnkeepers that go there, by their time limits."""

    def __init__(self, way: Way, wall: Wall, http: HttpClient, folder: Path) -> None:
        self.way = way
        self.wall = wall
        self.clock = ShiftedClock()
        self.servers = count(1)
        self._http = http
        self._folder = folder
        self._keepers: dict[TimeLimits, Turnkeeper] = {}

    @property
    def base_url(self) -> str:
        return f"{self.wall.url}{self.way.path}"

    def keeper(self, limits: TimeLimits) -> Turnkeeper:
        if limits not in self._keepers:
            self._keepers[limits] = self._opened(limits)
        return self._keepers[limits]

    def close(self) -> None:
        for keeper in self._keepers.values():
            keeper.close(0.0)

    def _opened(self, limits: TimeLimits) -> Turnkeeper:
        settings = Settings(
            store="memory",
            data_dir=self._folder,
            live_limits=False,
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
            first_progress_s=limits.first_progress_s,
            silence_ms=int(limits.silence_s * 1000),
            settle_ms=int(limits.settle_s * 1000),
        )
        providers = providers_of(settings, self._http, self.clock)
        providers.register(SPARE, providers.find(self.way.name))
        return Turnkeeper.open(settings, clock=self.clock, chat_providers=providers)


class House:
    """A server of its own whose primary and fallback are on the wall, with one key each."""

    def __init__(self, street: Street, limits: TimeLimits) -> None:
        self.street = street
        self.keeper = street.keeper(limits)
        self.primary = street.way.primary
        self.server = Owner.server(f"guild-{next(street.servers)}")
        self.sink = MemorySink()
        models = (self._model(self.primary, street.way.name, 1), self._model(FALLBACK, SPARE, 2))
        self.keeper.configure.use_model(self.server.id, models[0])
        self.keeper.configure.set_fallbacks(self.server.id, models[1:])

    def script(self, primary: Steps, fallback: Steps = (FROM_FALLBACK,)) -> None:
        self.street.wall.script(primary, model=self.primary)
        self.street.wall.script(fallback, model=FALLBACK)

    def run(self, conversation: Conversation = QUESTION) -> TurnResult:
        entries: list[Entry] = []
        self.sink = MemorySink()
        request = TurnRequest(conversation=conversation, server_id=self.server.id)
        result = self.keeper.run(request, self.sink, on_event=entries.append)
        assert breaches(tuple(entries)) == ()
        return result

    def answerer(self) -> Who | None:
        """Whose answer a turn gets, whole."""
        winner = self._winner(self.run())
        assert self.sink.channel.text == TEXTS[winner]
        return winner

    def calls(self, model: str) -> list[Seen]:
        return [seen for seen in self.street.wall.seen if seen.key == self._key(model)]

    def verdict(self, result: TurnResult) -> Verdict:
        """What was to be seen: in the result, in the channel, and by the provider."""
        winner = self._winner(result)
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

    def _winner(self, result: TurnResult) -> Who | None:
        if result.success_model is None:
            return None
        return "primary" if result.success_model.name == self.primary else "fallback"

    def _key(self, model: str) -> str:
        return f"sk-{model}-{self.server.id}"

    def _model(self, name: str, provider: str, connection_id: int) -> str:
        configure = self.keeper.configure
        if self.street.way.name != "custom":
            model = configure.register_model(f"{provider}:{name}")
            configure.add_key(self.server, provider, self._key(name))
            return model.id
        endpoint = Endpoint(
            id=0,
            connection_id=connection_id,
            label=name,
            base_url=self.street.base_url,
            trusted=True,
        )
        saved = configure.save_endpoint(self.server, endpoint)
        configure.add_key(self.server, saved.provider, self._key(name))
        return f"endpoint:{saved.id}"


@pytest.fixture(scope="module", params=WAYS, ids=[way.name for way in WAYS])
def street(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Street]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall(dialects=(request.param.dialect,)) as wall:
        street = Street(request.param, wall, http, tmp_path_factory.mktemp("street"))
        yield street
        street.close()
    http.close()


def fault_of(fault_id: str) -> Fault:
    (found,) = (fault for fault in FAULTS if fault.id == fault_id)
    assert isinstance(found, Fault)
    return found


def said_in(seen: Seen) -> Mapping[str, Any]:
    return {name: seen.body[name] for name in SAID if name in seen.body}


def test_there_are_sixteen() -> None:
    assert [fault.id for fault in FAULTS] == [f"S{number:02}" for number in range(1, 17)]


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if isinstance(fault, Fault)],
    ids=lambda fault: f"{fault.id} {fault.name}",
)
def test_a_fault_ends_the_same_in_every_dialect(fault: Fault, street: Street) -> None:
    family = street.way.family
    if (reason := dict(fault.not_in).get(family)) is not None:
        pytest.skip(f"{family} cannot show {fault.id}: {reason}")
    house = House(street, fault.limits)
    house.keeper.configure.set_content_filter(house.server.id, fault.content_filter)
    house.script(fault.met_by_primary(family), fault.fallback)

    result = house.run()

    assert house.verdict(result) == fault.verdict
    first, *more = asked = house.calls(house.primary)
    assert all(b.at_s - a.at_s >= fault.wait_s for a, b in pairwise(asked))
    assert fault.verdict.shrinks or all(seen.raw == first.raw for seen in more)
    assert all(said_in(seen) == said_in(first) for seen in house.calls(FALLBACK))


def test_s11_an_answer_with_its_reason_is_whole_where_the_end_marker_is_missing(
    street: Street,
) -> None:
    house = House(street, PATIENT)
    house.script((replace(FROM_PRIMARY, done=False),))

    assert house.verdict(house.run()) == Verdict(answered_by="primary")


def test_s12_an_answer_comes_once_the_prompt_is_small_enough(street: Street) -> None:
    fault = fault_of("S12")
    house = House(street, fault.limits)
    house.script((*fault.met_by_primary(street.way.family), FROM_PRIMARY))

    result = house.run()

    assert house.verdict(result) == Verdict(
        answered_by="primary",
        primary_calls=2,
        failures=(FailureKind.CONTEXT_TOO_LONG,),
        shrinks=True,
    )


def test_s12_a_prompt_that_cannot_be_made_smaller_is_not_sent_again(street: Street) -> None:
    fault = fault_of("S12")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family))

    result = house.run(Conversation.of("One long prompt. " * 200))

    assert house.verdict(result) == Verdict(
        answered_by="fallback", fallback_calls=1, failures=(FailureKind.CONTEXT_TOO_LONG,)
    )


def test_s13_the_reason_is_passed_on(street: Street) -> None:
    fault = fault_of("S13")
    house = House(street, fault.limits)
    house.keeper.configure.set_content_filter(house.server.id, ContentFilterPolicy.STOP)
    house.script(fault.met_by_primary(street.way.family))

    house.run()

    (told,) = house.sink.errors
    assert isinstance(told, StreamResult)
    assert told.failure is not None
    assert told.failure.kind is FailureKind.CONTENT_FILTER
    (said,) = house.sink.channel.said("error")
    assert "declined to answer this" in said


def test_s13_by_default_another_model_is_asked(street: Street) -> None:
    fault = fault_of("S13")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family))

    result = house.run()

    assert house.verdict(result) == Verdict(
        answered_by="fallback", fallback_calls=1, failures=(FailureKind.CONTENT_FILTER,)
    )


def test_s15_turns_go_on_during_an_outage_and_come_back_after_it(street: Street) -> None:
    (outage,) = (fault for fault in FAULTS if isinstance(fault, Outage))
    house = House(street, PATIENT)
    clock = street.clock
    over_at_s = clock.monotonic() + outage.for_s

    def primary(seen: Seen) -> Behaviour:
        return outage.down if clock.monotonic() < over_at_s else FROM_PRIMARY

    house.script((primary,))

    meanwhile, afterwards = [], []
    while clock.monotonic() < over_at_s:
        meanwhile.append(house.answerer())
        clock.advance(outage.every_s)
    calls_in_vain = len(house.calls(house.primary))
    while clock.monotonic() < over_at_s + outage.back_within_s:
        afterwards.append(house.answerer())
        clock.advance(outage.every_s)

    assert len(meanwhile) > 15
    assert set(meanwhile) == {"fallback"}
    assert 1 <= calls_in_vain <= outage.most_calls
    assert set(afterwards[:-1]) <= {"fallback", "primary"}
    assert afterwards[-1] == "primary"


def test_s16_the_result_is_the_fallbacks(street: Street) -> None:
    fault = fault_of("S16")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family), fault.fallback)

    result = house.run()

    assert result.success_model is not None
    assert (result.success_model.name, result.success_model.provider) == (
        FALLBACK,
        SPARE if street.way.name != "custom" else "custom:2",
    )
    assert result.usage is not None
    used = result.usage
    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (70, 7, 77)
