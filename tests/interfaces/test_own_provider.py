"""The worked example of a provider of one's own, and the page that explains it."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from contracts.chat_provider import ChatProviderContract
from worked_examples import example

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from turnkeeper.domain.model import Model, Sampling
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import CutAfter
from turnkeeper.infrastructure.wall.dialect import Asked, Kind, Rendered
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-provider.md"
EXAMPLE = ROOT / "examples" / "own_provider.py"

murmur: Any = example("own_provider")


@dataclass(frozen=True, slots=True, kw_only=True)
class MurmurDialect:
    """What the wall's answers are made of when it plays Murmur."""

    def asked(self, method: str, path: str, body: Mapping[str, Any]) -> Asked | None:
        if (method, path) != ("POST", "/v1/murmur"):
            return None
        return Asked(model=str(body.get("model", "")), streamed=True)

    def lists_models(self, method: str, path: str) -> bool:
        return False

    def models(self, names: tuple[str, ...]) -> bytes:
        return b"[]"

    def rendered(self, answer: Answer, asked: Asked) -> Rendered:
        return Rendered(
            content_type="application/x-ndjson",
            opening=(),
            tokens=tuple(_tokens(answer)),
            closing=tuple(_closing(answer)),
        )

    def delta(self, text: str, asked: Asked, kind: Kind) -> bytes:
        return _line({"text" if kind == "text" else "thought": text})

    def error(self, status: int, message: str) -> bytes:
        return _line({"error": {"code": status, "message": message}})

    def error_event(self, status: int, message: str) -> bytes:
        return self.error(status, message)


def _tokens(answer: Answer) -> Iterator[bytes]:
    yield from (_line({"thought": thought}) for thought in answer.reasoning)
    yield from (_line({"text": piece}) for piece in answer.pieces)
    for number, call in enumerate(answer.tool_calls, start=1):
        made = {"id": f"c{number}", "name": call.name, "arguments": "".join(call.arguments)}
        yield _line({"call": made})


def _closing(answer: Answer) -> Iterator[bytes]:
    counts = answer.counts
    words = {"tool_calls": "calls", "content_filter": "filter"}
    if (reason := answer.finish_reason) is not None:
        used = {"used": {"in": counts.input_tokens, "out": counts.output_tokens}}
        end = {"end": words.get(reason, reason)}
        yield _line({**end, **(used if answer.final_usage else {})})


def _line(document: Mapping[str, object]) -> bytes:
    return orjson.dumps(document) + b"\n"


class TestMurmurProvider(ChatProviderContract):
    dialects = (MurmurDialect(),)

    @pytest.fixture
    def provider(self, wall: Wall, http: HttpClient) -> ChatProvider:
        made: ChatProvider = murmur.MurmurProvider(http, base_url=wall.base_url)
        return made

    @pytest.fixture
    def unreachable(self, http: HttpClient) -> ChatProvider:
        made: ChatProvider = murmur.MurmurProvider(http, base_url="http://127.0.0.1:1/v1")
        return made


def test_a_call_is_written_as_murmur_wants_it() -> None:
    call = ChatCall(
        model=Model.named("murmur:m1"),
        conversation=Conversation(
            items=(
                Item.said(Role.USER, "How is the sea?"),
                Item(
                    role=Role.MODEL,
                    parts=(
                        TextPart(text="Let me look."),
                        ToolCallPart(call_id="c1", name="look", arguments_json='{"at":"sea"}'),
                    ),
                ),
                Item(
                    role=Role.TOOL,
                    parts=(ToolResultPart(call_id="c1", name="look", result_json='"calm"'),),
                ),
            ),
            tools=(ToolSpec(name="look", description="Looks.", schema_json="{}"),),
        ),
        sampling=Sampling(temperature=0.5),
        max_output_tokens=100,
    )

    assert murmur.body_of(call) == {
        "model": "m1",
        "said": [
            {"by": "user", "parts": [{"text": "How is the sea?"}]},
            {
                "by": "model",
                "parts": [
                    {"text": "Let me look."},
                    {"call": {"id": "c1", "name": "look", "arguments": '{"at":"sea"}'}},
                ],
            },
            {"by": "tool", "parts": [{"result": {"id": "c1", "given": '"calm"'}}]},
        ],
        "tools": [{"name": "look", "about": "Looks.", "schema": "{}"}],
        "longest": 100,
        "warmth": 0.5,
    }


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall(dialects=(MurmurDialect(),)) as wall:
        yield wall


def test_registered_by_a_call_it_answers_turns(wall: Wall, tmp_path: Path) -> None:
    wall.script([CutAfter(tokens=20), Answer(text="Hello from Murmur.")])
    settings = Settings(store="memory", data_dir=tmp_path)

    def at_the_wall(http: HttpClient) -> ChatProvider:
        made: ChatProvider = murmur.MurmurProvider(http, base_url=wall.base_url)
        return made

    with Turnkeeper.open(settings, own_providers={murmur.NAME: at_the_wall}) as keeper:
        answer = murmur.ask(keeper, "Say hello.", key="sk-murmur")

    assert answer == "Hello from Murmur."
    assert [seen.key for seen in wall.seen] == ["sk-murmur", "sk-murmur"]


def test_registered_by_an_entry_point_it_stands_beside_the_others(
    wall: Wall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall.script(Answer(text="Hello from Murmur."))
    install(tmp_path / "site", monkeypatch)
    monkeypatch.setenv("MURMUR_BASE_URL", wall.base_url)

    with Turnkeeper.open(Settings(store="memory", data_dir=tmp_path)) as keeper:
        answer = murmur.ask(keeper, "Say hello.", key="sk-murmur")
        others = {keeper.configure.find_provider(name) for name in ("openrouter", "gemini")}

    assert answer == "Hello from Murmur."
    assert others == {"openrouter", "google"}


def install(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `pip install` leaves of a package that holds the example and the page's entry point."""
    (group,) = tomllib.loads(blocks("toml")[0])["project"]["entry-points"].items()
    lines = [f"[{group[0]}]", *(f"{name} = {value}" for name, value in group[1].items())]
    metadata = site / "murmur-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: murmur\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    (site / "own_provider.py").write_text(EXAMPLE.read_text())
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "own_provider", raising=False)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_shows_all_of_the_example() -> None:
    source = EXAMPLE.read_text()
    defined = {
        part.name: ast.get_source_segment(source, part)
        for part in ast.parse(source).body
        if isinstance(part, ast.FunctionDef | ast.ClassDef)
    }
    shown = "\n".join(blocks("python"))

    assert [name for name, code in defined.items() if not code or code not in shown] == []


def test_all_code_on_the_page_is_code_that_runs() -> None:
    sources = EXAMPLE.read_text() + Path(__file__).read_text()

    assert [block for block in blocks("python") if block not in sources] == []
