from dataclasses import replace

import pytest
from builders import a_model, a_request, an_attempt, an_endpoint

from turnkeeper.application.ports.chat_provider import LimitsCatalogue
from turnkeeper.application.prepare_context import PrepareContext, TokenLimits
from turnkeeper.domain.answers import Prepared, Unpreparable
from turnkeeper.domain.budget import estimate
from turnkeeper.domain.conversation import Conversation, ImagePart, Item, Role, Tag, ToolSpec
from turnkeeper.domain.model import Capabilities, Limits, Model, Sampling
from turnkeeper.domain.model_facts import ModelFacts
from turnkeeper.domain.plan import Attempt

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
    assert made.input_tokens == estimate(made.conversation) <= 2_250


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
    assert window - 2_000 < made.input_tokens + made.max_output_tokens <= window


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
