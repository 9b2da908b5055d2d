"""The output that is reserved in the window is the output that the provider is asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders import a_request

from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.events import AttemptPrepared, Entry
from turnkeeper.domain.model import Limits, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

WINDOW = 40_000
NAMES = ("max_tokens", "max_completion_tokens", "maxOutputTokens")
HISTORY = Conversation(
    items=(
        *(
            Item.said(role, f"Word {number} of a long evening. " * 40)
            for number in range(300)
            for role in (Role.USER, Role.MODEL)
        ),
        Item.said(Role.USER, "And then?"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A provider whose address is the wall's.

    Attributes:
        fallback: What is asked for where nobody has said anything.
        cap: The field of the settings that caps it, or None.
        model: What its models' names begin with.
    """

    name: str
    dialect: Dialect
    path: str = "/v1"
    fallback: int = 4096
    cap: str | None = None
    model: str = "alpha-"


WAYS = (
    Way(name="openai", dialect=OpenAiDialect()),
    Way(name="groq", dialect=OpenAiDialect()),
    Way(name="mistral", dialect=OpenAiDialect()),
    Way(
        name="openrouter",
        dialect=OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning"),
        path="/api/v1",
        fallback=8192,
        cap="openrouter_max_output_tokens",
    ),
    Way(
        name="google",
        dialect=GeminiDialect(),
        path="/v1beta",
        fallback=8192,
        cap="google_max_output_tokens",
    ),
    Way(
        name="anthropic",
        dialect=AnthropicDialect(),
        fallback=8192,
        cap="anthropic_max_output_tokens",
    ),
    Way(
        name="novelai",
        dialect=OpenAiDialect(base_path="/oa/v1"),
        path="",
        fallback=150,
        model="xialong-v",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of one turn.

    Attributes:
        reserved: The output for which room was kept.
        requested: The output in the bytes that came in.
        prompt: The prompt, as it was counted.
    """

    reserved: int | None
    requested: int | None
    prompt: int


class Street:
    """Where one way leads, and what is asked for there."""

    def __init__(self, way: Way, wall: Wall, folder: Path) -> None:
        self.way = way
        self._wall = wall
        self._folder = folder
        self._numbers = count(1)

    def asked(self, sampling: Sampling, limits: Limits = Limits(), **caps: int) -> Asked:
        number = next(self._numbers)
        settings = Settings(
            store="memory",
            data_dir=self._folder,
            live_limits=False,
            base_urls={self.way.name: f"{self._wall.url}{self.way.path}"},
            **caps,
        )
        with Turnkeeper.open(settings) as keeper:
            name = f"{self.way.model}{number}"
            model = Model(id=f"m{number}", provider=self.way.name, name=name, limits=limits)
            keeper.configure.use_model("guild", keeper.configure.register_model(model).id)
            return self._run(keeper, sampling, name)

    def _run(self, keeper: Turnkeeper, sampling: Sampling, name: str) -> Asked:
        self._wall.script((Answer(text="Yes."),), model=name)
        keeper.configure.add_key(Owner.server("guild"), self.way.name, f"sk-{name}")
        keeper.configure.set_sampling("guild", sampling)
        entries: list[Entry] = []
        request = replace(a_request(), conversation=HISTORY)
        result = keeper.run(request, MemorySink(), on_event=entries.append)
        assert result.text == "Yes."
        (made,) = (e.event for e in entries if isinstance(e.event, AttemptPrepared))
        (seen,) = (seen for seen in self._wall.seen if seen.key == f"sk-{name}")
        return Asked(
            reserved=made.max_output_tokens,
            requested=requested_in(seen.body),
            prompt=made.input_tokens,
        )


def requested_in(body: Mapping[str, Any]) -> int | None:
    places = (body, body.get("generationConfig", {}))
    (found,) = (place[name] for place in places for name in NAMES if name in place)
    return int(found)


@pytest.fixture(scope="module", params=WAYS, ids=[way.name for way in WAYS])
def street(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Street]:
    with Wall(dialects=(request.param.dialect,)) as wall:
        yield Street(request.param, wall, tmp_path_factory.mktemp("street"))


@pytest.mark.parametrize("ceiling", [None, 500])
@pytest.mark.parametrize("override", [None, 120, 700, 60_000])
def test_what_is_reserved_is_what_is_requested(
    override: int | None, ceiling: int | None, street: Street
) -> None:
    limits = Limits(window_tokens=WINDOW, max_output_tokens=ceiling)

    asked = street.asked(Sampling(max_output_tokens=override), limits)

    assert asked.reserved is not None
    assert asked.requested == asked.reserved
    assert asked.reserved <= (ceiling or WINDOW)
    assert asked.prompt <= (WINDOW - asked.reserved) * 0.9


def test_where_nobody_has_said_anything_it_is_the_providers_own(street: Street) -> None:
    asked = street.asked(Sampling())

    assert (asked.requested, asked.reserved) == (street.way.fallback, street.way.fallback)


def test_a_cap_that_is_set_is_what_is_requested(street: Street) -> None:
    if street.way.cap is None:
        pytest.skip(f"{street.way.name} has no cap of its own")

    asked = street.asked(Sampling(), Limits(window_tokens=WINDOW), **{street.way.cap: 20_000})

    assert (asked.requested, asked.reserved) == (20_000, 20_000)
