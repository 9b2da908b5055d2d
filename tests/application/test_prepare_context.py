from collections.abc import Mapping
from dataclasses import replace

import pytest
from builders import a_model, a_request, an_attempt, an_endpoint, ran

from turnkeeper.application.ports.chat_provider import LimitsCatalogue
from turnkeeper.application.ports.media_reader import MediaReader
from turnkeeper.application.ports.token_counter import TokenCounter
from turnkeeper.application.prepare_context import PrepareContext, TokenLimits
from turnkeeper.domain.adjust import Shrink
from turnkeeper.domain.answers import Prepared, Unpreparable
from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    MediaDescriptor,
    MediaKind,
    Part,
    Role,
    Tag,
    TextPart,
    ToolSpec,
)
from turnkeeper.domain.media import Asked, Readable, Reading, Unreadable
from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model, Sampling
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.domain.outcome import Answered, StreamResult, TurnStatus
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.stream import FinishReason, Usage
from turnkeeper.domain.token_estimate import sizes_of
from turnkeeper.domain.truncation import Sizes
from turnkeeper.domain.turn import TurnRequest

LOOK = Item(
    role=Role.USER, parts=(ImagePart(uri="https://img.example.org/a.png"),), tag=Tag.HISTORY
)
DICE = ToolSpec(name="roll_dice")
_TOLD = [
    Item.said(role, f"{number} {'word ' * 300}")
    for number in range(10)
    for role in (Role.USER, Role.MODEL)
]
LONG = Conversation(items=(*_TOLD, Item.said(Role.USER, "and now?")))


class Says(LimitsCatalogue):
    """A catalogue that knows one model of each provider, and notes what it is asked."""

    def __init__(self, facts: ModelFacts | None) -> None:
        self._facts = facts
        self.asked: list[tuple[str, str]] = []

    def facts(self, provider: str, model: str) -> ModelFacts | None:
        self.asked.append((provider, model))
        return self._facts


def stored(
    limits: Limits = Limits(), *, provider: str = "openrouter", can: Capabilities = Capabilities()
) -> Model:
    return replace(a_model("maker/model", provider), limits=limits, capabilities=can)


def limits(window: int | None = None, output: int | None = None) -> Limits:
    return Limits(window_tokens=window, max_output_tokens=output)


def prepared(
    context: PrepareContext, attempt: Attempt, conversation: Conversation = LONG
) -> Prepared:
    made = context(attempt, replace(a_request(), conversation=conversation))
    assert isinstance(made, Prepared)
    return made


# ── limits ──────────────────────────────────────────────────────────────────────────────────

LIVE, ROW, TABLE = limits(30_000, 3_000), limits(20_000, 2_000), limits(10_000, 1_000)


@pytest.mark.parametrize(
    ("live", "row", "table", "known"),
    [
        (LIVE, ROW, TABLE, LIVE),
        (None, ROW, TABLE, ROW),
        (None, limits(), TABLE, TABLE),
        (None, limits(), None, limits()),
        (limits(), limits(), None, limits()),
        (limits(30_000), ROW, TABLE, limits(30_000, 2_000)),
        (limits(None, 3_000), limits(), TABLE, limits(10_000, 3_000)),
        (limits(), limits(20_000), TABLE, limits(20_000, 1_000)),
    ],
)
def test_each_limit_is_the_live_one_else_the_stored_else_the_registered(
    live: Limits | None, row: Limits, table: Limits | None, known: Limits
) -> None:
    registered: TokenLimits = {"openrouter:maker/model": table} if table else {}
    context = PrepareContext(
        catalogue=Says(ModelFacts(limits=live) if live else None), token_limits=registered
    )

    assert context.model_of(an_attempt(model=stored(row))) == stored(known)


def test_the_live_limits_are_those_of_the_model_by_its_name_in_requests() -> None:
    catalogue = Says(None)
    renamed = replace(stored(), id="mine")

    PrepareContext(catalogue=catalogue).model_of(an_attempt(model=renamed))

    assert catalogue.asked == [("openrouter", "maker/model")]


def test_the_host_may_register_limits_at_any_time() -> None:
    registry: dict[str, Limits] = {}
    context = PrepareContext(token_limits=registry)
    before = context.model_of(an_attempt(model=stored()))
    registry["openrouter:maker/model"] = TABLE

    assert (before, context.model_of(an_attempt(model=stored()))) == (stored(), stored(TABLE))


def test_of_an_endpoint_only_its_owner_speaks() -> None:
    catalogue = Says(ModelFacts(limits=LIVE, images=True))
    context = PrepareContext(catalogue=catalogue, token_limits={"openrouter:maker/model": TABLE})
    attempt = an_attempt(model=stored(), endpoint=an_endpoint())

    assert (context.model_of(attempt), catalogue.asked) == (stored(), [])


def test_a_live_window_is_what_the_conversation_is_fitted_to() -> None:
    context = PrepareContext(catalogue=Says(ModelFacts(limits=limits(3_000, 1_000))))

    made = prepared(context, an_attempt(model=stored(limits(100_000))))

    assert made.dropped > 0
    assert made.input_tokens == sizes_of(made.conversation).total <= 2_025


def test_where_no_window_is_known_nothing_is_left_out() -> None:
    made = prepared(PrepareContext(catalogue=Says(ModelFacts())), an_attempt(model=stored()))

    assert (made.conversation, made.dropped) == (LONG, 0)


@pytest.mark.parametrize("override", [None, 1_000, 50_000])
@pytest.mark.parametrize("ceiling", [None, 2_000])
@pytest.mark.parametrize("provider", ["openrouter", "google", "custom"])
def test_what_is_asked_for_is_what_is_reserved(
    override: int | None, ceiling: int | None, provider: str
) -> None:
    window = 200_000
    context = PrepareContext(catalogue=Says(ModelFacts(limits=limits(window, ceiling))))
    attempt = an_attempt(
        model=stored(provider=provider), sampling=Sampling(max_output_tokens=override)
    )
    long = Conversation(items=LONG.items * 40)

    made = prepared(context, attempt, long)

    assert made.max_output_tokens is not None
    assert made.max_output_tokens <= (ceiling or window)
    room = (window - made.max_output_tokens) * 0.9
    assert room - 2_000 < made.input_tokens <= room


def test_a_live_ceiling_caps_the_owners_override() -> None:
    context = PrepareContext(catalogue=Says(ModelFacts(limits=limits(None, 700))))
    attempt = an_attempt(model=stored(), sampling=Sampling(max_output_tokens=5_000))

    assert prepared(context, attempt).max_output_tokens == 700


# ── abilities ───────────────────────────────────────────────────────────────────────────────

SEES_AND_ACTS = Conversation(items=(LOOK,), tools=(DICE,))
NOTHING, ALL = Capabilities(tools=False), Capabilities(tools=True, images=True)


@pytest.mark.parametrize(
    ("can", "facts", "sees", "acts"),
    [
        (NOTHING, ModelFacts(images=True, tools=True), True, True),
        (ALL, ModelFacts(images=False, tools=False), False, False),
        (ALL, ModelFacts(), True, True),
        (NOTHING, ModelFacts(), False, False),
        (ALL, None, True, True),
        (NOTHING, None, False, False),
    ],
)
def test_openrouters_live_abilities_outrank_the_stored_ones(
    can: Capabilities, facts: ModelFacts | None, sees: bool, acts: bool
) -> None:
    context = PrepareContext(catalogue=Says(facts))

    made = prepared(context, an_attempt(model=stored(can=can)), SEES_AND_ACTS)

    assert (made.has_media, bool(made.conversation.tools)) == (sees, acts)


@pytest.mark.parametrize("provider", ["groq", "mistral", "anthropic", "google", "lmstudio"])
def test_no_other_providers_live_abilities_do(provider: str) -> None:
    context = PrepareContext(catalogue=Says(ModelFacts(images=True, videos=True, tools=False)))
    model = stored(provider=provider)

    assert context.model_of(an_attempt(model=model)) == model


# ── as before ───────────────────────────────────────────────────────────────────────────────


def test_without_a_catalogue_the_stored_row_is_all_there_is() -> None:
    model = stored(ROW, can=ALL)

    assert PrepareContext().model_of(an_attempt(model=model)) == model


def test_an_attempt_with_a_cause_is_not_prepared() -> None:
    attempt = an_attempt(2, cause="it has no connection")

    assert PrepareContext()(attempt, a_request()) == Unpreparable(
        attempt_no=2, cause="it has no connection"
    )


def test_the_turns_own_conversation_is_left_as_it_was() -> None:
    request = replace(a_request(), conversation=SEES_AND_ACTS)

    PrepareContext()(an_attempt(model=stored(can=NOTHING)), request)

    assert request.conversation == Conversation(items=(LOOK,), tools=(DICE,))


# ── after an answer that was cut before it began ────────────────────────────────────────────

EXCHANGES = Conversation(
    items=(
        Item.said(Role.SYSTEM, "be brief", None),
        *[
            Item.said(role, f"{role.value} {number}")
            for number in range(1, 10)
            for role in (Role.USER, Role.MODEL)
        ],
        Item.said(Role.USER, "and now?"),
    )
)
USED_UP, USED_LITTLE = Usage(reasoning_tokens=8000), Usage(reasoning_tokens=100)


def again(
    retries: int = 1,
    finish: FinishReason | None = FinishReason.LENGTH,
    usage: Usage | None = None,
    *,
    model: Model | None = None,
    sampling: Sampling = Sampling(),
    request: TurnRequest | None = None,
) -> Prepared:
    made = PrepareContext()(
        an_attempt(model=model or stored(), sampling=sampling),
        request or replace(a_request(), conversation=EXCHANGES),
        retries=retries,
        empty_finish=finish,
        empty_usage=usage,
    )
    assert isinstance(made, Prepared)
    return made


@pytest.mark.parametrize("retries", [1, 2, 3])
def test_each_time_two_exchanges_more_are_left_out(retries: int) -> None:
    made = again(retries)

    system, history = EXCHANGES.items[:1], EXCHANGES.items[1:]
    assert made.conversation.items == (*system, *history[4 * retries :])
    assert made.dropped == 2 * retries


def test_the_newest_user_turn_is_never_left_out() -> None:
    made = again(50)

    assert made.conversation.items == (EXCHANGES.items[0], EXCHANGES.items[-1])
    assert made.dropped == 9


@pytest.mark.parametrize("finish", [FinishReason.STOP, FinishReason.CONTENT_FILTER, None])
def test_after_any_other_empty_answer_nothing_is(finish: FinishReason | None) -> None:
    assert again(2, finish).conversation == EXCHANGES


def test_what_the_host_says_of_the_run_before_counts() -> None:
    request = replace(
        a_request(), conversation=EXCHANGES, retry_count=1, empty_finish=FinishReason.LENGTH
    )

    assert again(0, None, request=request).dropped == 2


def test_the_first_run_leaves_nothing_out() -> None:
    assert again(0).dropped == 0


def test_how_many_are_left_out_can_be_set() -> None:
    context = PrepareContext(length_empty_drop_pairs=3)
    request = replace(a_request(), conversation=EXCHANGES)

    made = context(an_attempt(), request, retries=1, empty_finish=FinishReason.LENGTH)

    assert isinstance(made, Prepared)
    assert made.dropped == 3


def test_where_reasoning_used_up_the_output_there_is_more_of_it_and_nothing_is_left_out() -> None:
    made = again(usage=USED_UP)

    assert (made.max_output_tokens, made.conversation) == (2 * 8192, EXCHANGES)


def test_there_is_at_most_what_the_model_has() -> None:
    assert again(usage=USED_UP, model=stored(limits(None, 9_000))).max_output_tokens == 9_000


def test_where_there_is_no_more_of_it_exchanges_are_left_out() -> None:
    made = again(usage=USED_UP, model=stored(limits(None, 8_000)))

    assert (made.max_output_tokens, made.dropped) == (8_000, 2)


def test_what_the_owner_has_set_is_not_raised() -> None:
    made = again(usage=USED_UP, sampling=Sampling(max_output_tokens=2_000))

    assert (made.max_output_tokens, made.dropped) == (2_000, 2)


def test_where_reasoning_used_little_exchanges_are_left_out() -> None:
    made = again(usage=USED_LITTLE)

    assert (made.max_output_tokens, made.dropped) == (8192, 2)


# ── media, tools, counts ────────────────────────────────────────────────────────────────────

SHOWN = Item(
    role=Role.USER,
    parts=(TextPart(text="what is this?"),),
    tag=Tag.HISTORY,
    media=(MediaDescriptor(kind=MediaKind.IMAGE, uri="https://img.example.org/a.png"),),
)
LOOKS = Conversation(items=(SHOWN,))
SEEN = (ImagePart(uri="https://img.example.org/a.png"), TextPart(text="what is this?"))
TOLD_OF = (
    TextPart(text="[an image is here, which this model cannot see]"),
    TextPart(text="what is this?"),
)


def test_from_a_model_that_sees_to_one_that_does_not_and_back() -> None:
    context = PrepareContext()
    sees, blind = stored(can=ALL), stored(can=NOTHING)

    made = [prepared(context, an_attempt(model=one), LOOKS) for one in (sees, blind, sees)]

    assert [one.conversation.items[0].parts for one in made] == [SEEN, TOLD_OF, SEEN]
    assert [one.has_media for one in made] == [True, False, True]


class Knows(MediaReader):
    """Says of every address but those that are good that a web page is there."""

    def __init__(self, *good: str) -> None:
        self._good = good
        self.asked: list[tuple[Asked, ...]] = []

    def read(self, asked: tuple[Asked, ...]) -> Mapping[Asked, Reading]:
        self.asked.append(asked)
        return {
            one: Readable(uri=one[1], mime_type="image/webp")
            if one[1] in self._good
            else Unreadable("is really a web page")
            for one in asked
        }


FIRST, OTHER_PLACE = "https://img.example.org/a.png", "https://other.example.org/a.png"
TWO_PLACES = replace(SHOWN, media=(replace(SHOWN.media[0], fallback_uri=OTHER_PLACE),))


@pytest.mark.parametrize(
    ("good", "first_part", "asked"),
    [
        (FIRST, ImagePart(uri=FIRST, mime_type="image/webp"), [FIRST]),
        (OTHER_PLACE, ImagePart(uri=OTHER_PLACE, mime_type="image/webp"), [FIRST, OTHER_PLACE]),
        ("", TextPart(text="[an image is here, which is really a web page]"), [FIRST, OTHER_PLACE]),
    ],
)
def test_what_media_really_are_is_asked_and_then_where_else_they_are(
    good: str, first_part: Part, asked: list[str]
) -> None:
    reader = Knows(good)
    conversation = Conversation(items=(TWO_PLACES,))

    made = prepared(PrepareContext(media=reader), an_attempt(model=stored(can=ALL)), conversation)

    assert made.conversation.items[0].parts[0] == first_part
    assert reader.asked == [((MediaKind.IMAGE, uri, None),) for uri in asked]


def test_all_media_are_asked_for_at_once_and_each_once() -> None:
    reader = Knows(FIRST)
    second = replace(SHOWN, media=(replace(SHOWN.media[0], uri="https://img.example.org/b.png"),))

    prepared(
        PrepareContext(media=reader),
        an_attempt(model=stored(can=ALL)),
        Conversation(items=(SHOWN, second, SHOWN)),
    )

    assert [[uri for _, uri, _ in asked] for asked in reader.asked] == [
        [FIRST, "https://img.example.org/b.png"]
    ]


def test_a_model_that_sees_nothing_has_nobody_look() -> None:
    reader = Knows()

    prepared(PrepareContext(media=reader), an_attempt(model=stored(can=NOTHING)), LOOKS)

    assert reader.asked == []


def test_what_nobody_says_anything_of_is_taken_at_its_word() -> None:
    class SaysNothing(MediaReader):
        def read(self, asked: tuple[Asked, ...]) -> Mapping[Asked, Reading]:
            return {}

    made = prepared(PrepareContext(media=SaysNothing()), an_attempt(model=stored(can=ALL)), LOOKS)

    assert made.conversation.items[0].parts == SEEN


@pytest.mark.parametrize(
    ("endpoint", "tools", "verbatim", "told"),
    [
        (an_endpoint(), True, True, True),
        (an_endpoint(), True, False, False),
        (an_endpoint(), False, True, False),
        (None, True, True, False),
    ],
)
def test_only_an_endpoint_whose_model_writes_its_calls_is_told_how(
    endpoint: Endpoint | None, tools: bool, verbatim: bool, told: bool
) -> None:
    model = stored(can=Capabilities(tools=tools, verbatim_tool_calling=verbatim))
    conversation = replace(EXCHANGES, tools=(DICE,))

    made = prepared(PrepareContext(), an_attempt(model=model, endpoint=endpoint), conversation)

    tags = {item.tag for item in made.conversation.items}
    assert ({Tag.TOOL_SCHEMAS, Tag.TOOL_NUDGE} <= tags) is told
    assert told or made.conversation.items == EXCHANGES.items


def test_tools_that_are_told_of_in_the_text_are_counted_there_alone() -> None:
    model = stored(can=Capabilities(verbatim_tool_calling=True))
    conversation = replace(EXCHANGES, tools=(DICE,))

    made = prepared(PrepareContext(), an_attempt(model=model, endpoint=an_endpoint()), conversation)

    assert made.conversation.tools == (DICE,)
    assert made.input_tokens == sum(sizes_of(made.conversation).items)


class CountsTens(TokenCounter):
    """Counts ten tokens an item, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int]] = []

    def sizes(self, conversation: Conversation, model: Model) -> Sizes:
        return Sizes(items=(10,) * len(conversation.items))

    def learn(self, model: Model, *, counted: int, reported: int) -> None:
        self.told.append((model.name, counted, reported))


def an_end(*usages: Usage | None) -> Answered:
    results = tuple(
        StreamResult(status=TurnStatus.COMPLETED, text="x", usage=usage) for usage in usages
    )
    return Answered(ran=replace(ran(0, text="x"), stream_results=results))


def test_the_counter_says_what_fits() -> None:
    context = PrepareContext(counter=CountsTens(), output_caps=(("openrouter", 100),))

    made = prepared(context, an_attempt(model=stored(limits(200))), EXCHANGES)

    assert (made.input_tokens, made.least_tokens, made.dropped) == (80, 20, 6)


def test_a_shrink_is_in_the_tokens_that_were_counted() -> None:
    context = PrepareContext(counter=CountsTens())
    before = prepared(context, an_attempt(model=stored()), EXCHANGES)

    after = context.adjusted(before, Shrink(to_tokens=before.input_tokens // 2))

    assert (before.input_tokens, before.dropped) == (200, 0)
    assert after.dropped in {4, 5}
    assert after.input_tokens <= 100


def test_a_window_that_its_key_has_is_shared_by_prompt_and_answer() -> None:
    context = PrepareContext(counter=CountsTens(), output_caps=(("openrouter", 150),))
    before = prepared(context, an_attempt(model=stored()), EXCHANGES)

    after = context.within(before, 200)

    assert after.max_output_tokens == 100
    assert after.input_tokens <= 90


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (an_end(Usage(input_tokens=70)), [("maker/model", 200, 70)]),
        (an_end(Usage(input_tokens=70), Usage(input_tokens=90)), []),
        (an_end(Usage()), []),
        (an_end(None), []),
        (an_end(), []),
    ],
)
def test_the_counter_is_told_what_one_call_really_was(
    end: Answered, told: list[tuple[str, int, int]]
) -> None:
    counter = CountsTens()
    context = PrepareContext(counter=counter)
    attempt = an_attempt(model=stored())

    context.learn(attempt, prepared(context, attempt, EXCHANGES), end)

    assert counter.told == told


def test_of_what_had_media_nothing_is_learnt() -> None:
    counter = CountsTens()
    context = PrepareContext(counter=counter)
    attempt = an_attempt(model=stored(can=ALL))

    context.learn(attempt, prepared(context, attempt, LOOKS), an_end(Usage(input_tokens=70)))

    assert counter.told == []
