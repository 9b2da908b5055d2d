"""The examples that extend a turn: a transformer of plans, and a sink around a sink."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from worked_examples import example

from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import CutAfter, Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")
SHORT = "What is 2 + 2?"
LONG = "What does a keeper do when the lamp goes out, and the spare one, and the moon as well?"
STORY = Answer(tokens=tuple(f"The ghost walks, step {number}.\n\n" for number in range(60)))

Open = Callable[..., Turnkeeper]


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        wall.script(Answer(text="The big answer."), model="big")
        wall.script(Answer(text="The quick answer."), model="quick")
        yield wall


@pytest.fixture
def opened(wall: Wall, tmp_path: Path) -> Iterator[Open]:
    keepers: list[Turnkeeper] = []

    def open_keeper(**overrides: object) -> Turnkeeper:
        settings = Settings(store="memory", data_dir=tmp_path, base_urls={"openai": wall.base_url})
        keeper = Turnkeeper.open(settings, **overrides)
        keepers.append(keeper)
        keeper.configure.register_model("openai:big")
        keeper.configure.add_key(SERVER, "openai", "sk-one")
        keeper.configure.use_model(SERVER.id, "openai:big")
        return keeper

    yield open_keeper
    for keeper in keepers:
        keeper.close(0.0)


def asked(wall: Wall) -> list[str | None]:
    return [seen.model for seen in wall.seen if seen.model is not None]


@pytest.mark.parametrize(
    ("prompt", "answer", "models"),
    [(SHORT, "The quick answer.", ["quick"]), (LONG, "The big answer.", ["big"])],
    ids=["short", "long"],
)
def test_a_probe_answers_short_questions(
    opened: Open, wall: Wall, prompt: str, answer: str, models: list[str]
) -> None:
    probe = example("probe_before_primary")
    quick = probe.Model.named("openai:quick")
    keeper = opened(transformers=(probe.ProbeFirst(quick),))

    result = probe.ask(keeper, prompt, server_id=SERVER.id)

    assert result.text == answer
    assert asked(wall) == models


def test_a_probe_that_fails_gives_way_to_the_primary(opened: Open, wall: Wall) -> None:
    probe = example("probe_before_primary")
    quick = probe.Model.named("openai:quick")
    wall.script(Refuse(status=503), model="quick")
    keeper = opened(transformers=(probe.ProbeFirst(quick),))

    result = probe.ask(keeper, SHORT, server_id=SERVER.id)

    assert result.text == "The big answer."
    assert [(failed.attempt_no, failed.model) for failed in result.failures] == [(0, "quick")]
    assert asked(wall) == ["quick", "big"]


def test_transformers_work_in_their_order(opened: Open, wall: Wall) -> None:
    probe = example("probe_before_primary")
    first, second = (probe.ProbeFirst(probe.Model.named(f"openai:{n}")) for n in ("quick", "big2"))
    wall.script(Refuse(status=503), model="big2")
    keeper = opened(transformers=(first, second))

    probe.ask(keeper, SHORT, server_id=SERVER.id)

    assert asked(wall) == ["big2", "quick"]


def test_a_wrapped_sink_hides_words_and_counts_messages(opened: Open, wall: Wall) -> None:
    wrapped = example("wrapped_sink")
    wall.script(CutAfter(tokens=40, of=STORY), model="big")
    wall.script(Answer(text="No Ghost, no ghosts!"), model="quick")
    keeper, sink = opened(), MemorySink()
    keeper.configure.register_model("openai:quick")
    keeper.configure.set_fallbacks(SERVER.id, ("openai:quick",))

    told = wrapped.answer(keeper, "Tell.", sink, hidden=("ghost",), server_id=SERVER.id)

    gone = sink.channel.deleted
    assert sink.channel.text == "No █████, no ghosts!"
    assert gone != ()
    assert not any("ghost" in message.text for message in gone)
    assert (told.posted, told.taken_back) == (1 + len(gone), len(gone))
    assert (len(sink.finalized), sink.cleaned_up) == (1, 1)


def test_a_wrapped_sink_that_cannot_take_back_gets_only_the_whole_answer(
    opened: Open, wall: Wall
) -> None:
    wrapped = example("wrapped_sink")
    wall.script([CutAfter(tokens=40, of=STORY), Answer(text="Whole.")], model="big")
    sink = MemorySink(can_take_back=False)

    told = wrapped.answer(opened(), "Tell.", sink, hidden=(), server_id=SERVER.id)

    assert (sink.channel.text, told.posted, told.taken_back) == ("Whole.", 1, 0)


def test_a_registered_limit_bounds_the_output_that_is_asked_for(opened: Open, wall: Wall) -> None:
    limits = example("token_limits")
    keeper = opened(token_limits={"openai:big": limits.LIMITS["vllm:house-model"]})

    limits.ask(keeper, SHORT, server_id=SERVER.id)

    (seen,) = (one for one in wall.seen if one.model is not None)
    assert (seen.body.get("max_tokens") or seen.body.get("max_completion_tokens")) == 1024
