from typing import Any

import pytest
from builders import a_model
from texts import TEXTS

from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    MediaDescriptor,
    MediaKind,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
    VideoPart,
)
from turnkeeper.domain.model import Model
from turnkeeper.domain.token_estimate import (
    TOKENS_PER_IMAGE,
    TOKENS_PER_ITEM,
    TOKENS_PER_VIDEO,
    tokens_of,
)
from turnkeeper.infrastructure.token_estimator import TokenEstimator

MODEL, OTHER = a_model(), a_model("beta")
LONG = Conversation.of("Some words that are said again. " * 100)
ERROR_BOUND = 0.2


@pytest.fixture
def estimator() -> TokenEstimator:
    return TokenEstimator()


def total(estimator: TokenEstimator, model: Model = MODEL) -> int:
    return estimator.sizes(LONG, model).total


def reports(estimator: TokenEstimator, factor: float, model: Model = MODEL) -> None:
    """The model reports so many times what a first guess would have been."""
    reported = int(factor * total(TokenEstimator(), model))
    estimator.learn(model, counted=total(estimator, model), reported=reported)


# ── the error ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def real() -> Any:
    return pytest.importorskip("bpe_openai").get_encoding("o200k_base")


@pytest.mark.parametrize("script", TEXTS)
def test_an_estimate_is_within_a_fifth_of_what_a_tokenizer_counts(script: str, real: Any) -> None:
    _, unseen = TEXTS[script]
    counted = len(real.encode(unseen))

    assert abs(tokens_of(unseen) - counted) <= ERROR_BOUND * counted


def test_all_texts_together_are_within_a_twentieth(real: Any) -> None:
    texts = [unseen for _, unseen in TEXTS.values()]
    counted = sum(len(real.encode(text)) for text in texts)

    assert abs(sum(map(tokens_of, texts)) - counted) <= 0.05 * counted


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), (" ", 1), ("\ud800", 1)])
def test_a_text_that_is_not_empty_is_at_least_one_token(text: str, tokens: int) -> None:
    assert tokens_of(text) == tokens


# ── what counts ─────────────────────────────────────────────────────────────────────────────


def test_everything_that_an_item_carries_counts(estimator: TokenEstimator) -> None:
    words = "some words here"
    item = Item(
        role=Role.MODEL,
        parts=(
            ImagePart(uri="https://img.example.org/" + "a" * 500),
            VideoPart(uri="https://img.example.org/b"),
            ReasoningPart(text=words),
            ToolCallPart(call_id="1", name="dice", arguments_json=words),
            ToolResultPart(call_id="1", name="dice", result_json=words),
        ),
        media=(MediaDescriptor(kind=MediaKind.IMAGE, uri="https://img.example.org/c"),),
    )

    sizes = estimator.sizes(Conversation(items=(item,)), MODEL)

    texts = 3 * tokens_of(words) + 2 * tokens_of("dice")
    media = 2 * TOKENS_PER_IMAGE + TOKENS_PER_VIDEO
    assert sizes.items == (3 * TOKENS_PER_ITEM + texts + media,)


def test_the_schemas_of_tools_count(estimator: TokenEstimator) -> None:
    schema = '{"type":"object","properties":{"sides":{"type":"integer"}}}'
    tools = (ToolSpec(name="dice", description="Rolls a die.", schema_json=schema),)

    sizes = estimator.sizes(Conversation(tools=tools), MODEL)

    assert sizes.items == ()
    assert sizes.tools > tokens_of(schema) + tokens_of("Rolls a die.")


def test_a_text_is_as_long_the_second_time(estimator: TokenEstimator) -> None:
    assert estimator.sizes(LONG, MODEL) == estimator.sizes(LONG, MODEL)


def test_another_count_of_texts_is_used() -> None:
    sizes = TokenEstimator(len).sizes(Conversation.of("hello"), MODEL)

    assert sizes.items == (5 + TOKENS_PER_ITEM,)


def test_more_texts_than_are_remembered_are_counted_all_the_same() -> None:
    estimator = TokenEstimator(most_texts=2)
    many = Conversation(items=tuple(Item.said(Role.USER, "word " * n) for n in range(1, 9)))

    assert estimator.sizes(many, MODEL) == TokenEstimator().sizes(many, MODEL)


# ── what is learnt ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("factor", [0.7, 1.3, 2.5])
def test_what_a_model_reports_is_soon_what_is_estimated(
    factor: float, estimator: TokenEstimator
) -> None:
    for _ in range(15):
        reports(estimator, factor)

    assert estimator.factor(MODEL) == pytest.approx(factor, rel=0.02)
    assert total(estimator) == pytest.approx(factor * total(TokenEstimator()), rel=0.02)


def test_one_report_alone_does_not_turn_everything(estimator: TokenEstimator) -> None:
    reports(estimator, 2.0)

    assert estimator.factor(MODEL) == pytest.approx(1.3, rel=0.01)


def test_each_model_has_its_own_measure(estimator: TokenEstimator) -> None:
    reports(estimator, 2.0)

    assert estimator.factor(OTHER) == 1.0


def test_it_moves_only_so_far(estimator: TokenEstimator) -> None:
    for _ in range(30):
        reports(estimator, 7.0, MODEL)
        reports(estimator, 0.3, OTHER)

    assert (estimator.factor(MODEL), estimator.factor(OTHER)) == (4.0, 0.5)


def test_nonsense_is_not_learnt(estimator: TokenEstimator) -> None:
    estimator.learn(MODEL, counted=1_000, reported=10**9)
    estimator.learn(MODEL, counted=10_000, reported=10)

    assert estimator.factor(MODEL) == 1.0


@pytest.mark.parametrize(("counted", "reported"), [(199, 400), (1_000, 0), (0, 5)])
def test_of_too_little_nothing_is_learnt(
    counted: int, reported: int, estimator: TokenEstimator
) -> None:
    estimator.learn(MODEL, counted=counted, reported=reported)

    assert estimator.factor(MODEL) == 1.0


def test_of_many_models_those_not_used_lately_are_forgotten() -> None:
    estimator = TokenEstimator(most_models=2)
    for model in (MODEL, OTHER):
        reports(estimator, 2.0, model)
    estimator.factor(MODEL)
    reports(estimator, 2.0, a_model("gamma"))

    known = [estimator.factor(m) > 1.0 for m in (MODEL, OTHER, a_model("gamma"))]
    assert known == [True, False, True]
