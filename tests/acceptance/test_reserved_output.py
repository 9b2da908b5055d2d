"""The output that is reserved in the window is the output that the provider is asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from builders import a_request

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.budget import STORY_MODELS, output_tokens
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.events import AttemptPrepared, Entry
from turnkeeper.domain.model import Endpoint, Limits, Model, Sampling
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.providers import novelai
from turnkeeper.infrastructure.providers.novelai_request import max_length_of
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.dialect import Dialect, OpenAiDialect
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
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


PLAIN = (
    "openai",
    "custom",
    "deepseek",
    "groq",
    "llamacpp",
    "lmstudio",
    "mistral",
    "nvidia",
    "ollama",
    "vllm",
    "xai",
    "zai",
    "zai-coding",
)
WAYS = (
    *(Way(name=name, dialect=OpenAiDialect()) for name in PLAIN),
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
        fallback=2048,
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
            base_urls={} if self.is_custom else {self.way.name: self.base_url},
            **caps,
        )
        with Turnkeeper.open(settings) as keeper:
            name = f"{self.way.model}{number}"
            self._use_model(keeper, name, limits)
            return self._run(keeper, sampling, name)

    @property
    def is_custom(self) -> bool:
        return self.way.name == "custom"

    @property
    def base_url(self) -> str:
        return f"{self._wall.url}{self.way.path}"

    def _use_model(self, keeper: Turnkeeper, name: str, limits: Limits) -> None:
        configure, provider = keeper.configure, self.way.name
        if self.is_custom:
            endpoint = Endpoint(
                id=0,
                connection_id=1,
                label=name,
                base_url=self.base_url,
                trusted=True,
                num_ctx=limits.window_tokens,
            )
            saved = configure.save_endpoint(SERVER, endpoint)
            provider, model_id = saved.provider, f"endpoint:{saved.id}"
        else:
            model = Model(id=name, provider=provider, name=name, limits=limits)
            model_id = configure.register_model(model).id
        configure.add_key(SERVER, provider, f"sk-{name}")
        configure.use_model("guild", model_id)

    def _run(self, keeper: Turnkeeper, sampling: Sampling, name: str) -> Asked:
        self._wall.script((Answer(text="Yes."),), model=name)
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
    if ceiling is not None and street.is_custom:
        pytest.skip("of an endpoint no ceiling is known")
    limits = Limits(window_tokens=WINDOW, max_output_tokens=ceiling)

    asked = street.asked(Sampling(max_output_tokens=override), limits)

    assert asked.reserved is not None
    assert asked.requested == asked.reserved
    assert asked.reserved <= (ceiling or WINDOW)
    assert asked.prompt <= (WINDOW - asked.reserved) * 0.9


def test_where_nobody_has_said_anything_it_is_the_providers_own(street: Street) -> None:
    asked = street.asked(Sampling())

    assert (asked.requested, asked.reserved) == (street.way.fallback, street.way.fallback)


def test_a_cap_that_is_set_is_what_its_own_provider_is_asked_for(street: Street) -> None:
    caps = {way.cap: 20_000 for way in WAYS if way.cap}
    wanted = 20_000 if street.way.cap else street.way.fallback

    asked = street.asked(Sampling(), Limits(window_tokens=WINDOW), **caps)

    assert (asked.requested, asked.reserved) == (wanted, wanted)


@pytest.mark.parametrize("override", [None, 120, 700])
@pytest.mark.parametrize("ceiling", [None, 100, 400])
@pytest.mark.parametrize("story", sorted(STORY_MODELS))
def test_a_story_is_asked_for_as_long_as_is_reserved(
    story: str, ceiling: int | None, override: int | None
) -> None:
    limits = Limits(window_tokens=8192, max_output_tokens=ceiling)
    model = Model(id=story, provider="novelai", name=story, limits=limits)
    reserved = output_tokens(model, Sampling(max_output_tokens=override), None)
    call = ChatCall(model=model, conversation=HISTORY, max_output_tokens=reserved)

    assert max_length_of(call) == reserved


def test_those_are_all_story_models() -> None:
    assert STORY_MODELS == novelai.STORY_MODELS
