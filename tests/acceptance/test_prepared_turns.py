"""What a provider is really sent, from what was prepared for its model."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import a_request

from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    MediaDescriptor,
    MediaKind,
    Role,
    Tag,
    TextPart,
)
from turnkeeper.domain.events import AttemptPrepared, Entry
from turnkeeper.domain.model import Capabilities, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.token_estimate import sizes_of
from turnkeeper.infrastructure.media import MediaCheck
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.token_estimator import TokenEstimator
from turnkeeper.infrastructure.wall.answer import Answer, Usage
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

GIF = "data:image/gif;base64,R0lGODlhAwACAIAAAA=="
PAGE = "data:image/png;base64,PGh0bWw+PGJvZHk+U2lnbiBpbjwvYm9keT48L2h0bWw+"
LONG = Conversation.of("Some words that are said again. " * 200)
YES = Answer(text="Yes.")


def asking(uri: str) -> Conversation:
    look = Item(
        role=Role.USER,
        parts=(TextPart(text="What is this?"),),
        tag=Tag.HISTORY,
        media=(MediaDescriptor(kind=MediaKind.IMAGE, uri=uri, media_id="m1"),),
    )
    return Conversation(items=(look,))


class Keeper:
    """A turnkeeper whose server has a model that sees, and then one that does not."""

    def __init__(self, wall: Wall, folder: Path) -> None:
        settings = Settings(
            store="memory",
            data_dir=folder,
            live_limits=False,
            base_urls={"openai": wall.base_url},
        )
        context = PrepareContext(counter=TokenEstimator(), media=MediaCheck())
        self.wall = wall
        self.kept = Turnkeeper.open(settings, context=context)
        configure = self.kept.configure
        for name, sees in (("sees", True), ("blind", False)):
            can = Capabilities(images=sees)
            configure.register_model(Model(id=name, provider="openai", name=name, capabilities=can))
        configure.add_key(Owner.server("guild"), "openai", "sk-one")
        configure.use_model("guild", "sees")
        configure.set_fallbacks("guild", ("blind",))

    def counted(self, conversation: Conversation) -> int:
        """What the first attempt of a turn was counted as."""
        entries: list[Entry] = []
        request = replace(a_request(), conversation=conversation)
        result = self.kept.run(request, MemorySink(), on_event=entries.append)
        assert result.text == "Yes."
        made = [entry.event for entry in entries if isinstance(entry.event, AttemptPrepared)]
        return made[0].input_tokens

    def sent(self) -> list[tuple[str | None, Any]]:
        """Models, and what the user said to them, in order."""
        return [(seen.model, seen.body["messages"][-1]["content"]) for seen in self.wall.seen]


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    with Wall() as wall:
        keeper = Keeper(wall, tmp_path)
        yield keeper
        keeper.kept.close(0.0)


SEEN = [
    {"type": "image_url", "image_url": {"url": GIF}},
    {"type": "text", "text": "What is this?"},
]
TOLD = "[an image m1 is here, which this model cannot see]What is this?"


def test_an_image_is_a_notice_for_the_attempt_that_cannot_see_it_alone(keeper: Keeper) -> None:
    keeper.wall.script((Refuse(status=500), Refuse(status=500), YES), model="sees")
    keeper.wall.script((YES,), model="blind")

    keeper.counted(asking(GIF))
    keeper.counted(asking(GIF))

    assert keeper.sent() == [
        ("sees", SEEN),
        ("sees", SEEN),
        ("blind", TOLD),
        ("sees", SEEN),
    ]


def test_a_web_page_that_is_called_an_image_is_told_and_not_sent(keeper: Keeper) -> None:
    keeper.wall.script((YES,), model="sees")

    keeper.counted(asking(PAGE))

    told = "[an image m1 is here, which is really a web page]What is this?"
    assert keeper.sent() == [("sees", told)]


def test_what_a_provider_reports_is_what_the_next_turn_is_counted_by(keeper: Keeper) -> None:
    first = sizes_of(LONG).total
    keeper.wall.script((Answer(text="Yes.", usage=Usage(input_tokens=2 * first)),), model="sees")

    before = keeper.counted(LONG)
    after = keeper.counted(LONG)

    assert before == first
    assert first * 1.2 < after < first * 2
