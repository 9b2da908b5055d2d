from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    Part,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.truncation import Cut, Sizes, cut_to, drop_oldest, exchanges


def said(role: Role, text: str, tag: Tag | None = Tag.HISTORY) -> Item:
    return Item.said(role, text, tag)


def user(text: str) -> Item:
    return said(Role.USER, text)


def model(text: str) -> Item:
    return said(Role.MODEL, text)


def call(call_id: str, tag: Tag | None = Tag.HISTORY) -> Item:
    part = ToolCallPart(call_id=call_id, name="dice", arguments_json="{}")
    return Item(role=Role.MODEL, parts=(part,), tag=tag)


def result(call_id: str, tag: Tag | None = Tag.HISTORY) -> Item:
    part = ToolResultPart(call_id=call_id, name="dice", result_json="6")
    return Item(role=Role.TOOL, parts=(part,), tag=tag)


def kept(*items: Item, to_tokens: int = 0) -> tuple[Item, ...]:
    """What is left where every item is one token."""
    sizes = Sizes(items=(1,) * len(items))
    return cut_to(Conversation(items=items), sizes, to_tokens=to_tokens).conversation.items


SYSTEM = said(Role.SYSTEM, "s", None)
U1, M1, U2, M2, U3 = user("u1"), model("m1"), user("u2"), model("m2"), user("u3")
TALK = (SYSTEM, U1, M1, U2, M2, U3)

# ── examples ────────────────────────────────────────────────────────────────────────────────


def test_the_oldest_exchange_goes_and_that_is_enough() -> None:
    # The worked example: 4,300 characters at 4 a token, in (1,000 - 100) * 0.9 tokens.
    sizes = Sizes(items=(100, 400, 200, 200, 100, 75))

    cut = cut_to(Conversation(items=TALK), sizes, to_tokens=810)

    assert cut == Cut(
        conversation=Conversation(items=(SYSTEM, U2, M2, U3)),
        tokens=475,
        least_tokens=175,
        exchanges=1,
        items=2,
    )


def test_four_exchanges_are_asked_for_and_the_two_that_there_are_go() -> None:
    items = (U1, M1, U2, M2, U3)

    cut = drop_oldest(Conversation(items=items), Sizes(items=(1,) * 5), count=4)

    assert (cut.conversation.items, cut.exchanges) == ((U3,), 2)


def test_dropping_none_drops_none() -> None:
    conversation = Conversation(items=TALK)

    assert drop_oldest(conversation, Sizes(items=(1,) * 6), count=0).conversation == conversation


def test_without_a_limit_nothing_goes() -> None:
    cut = cut_to(Conversation(items=TALK), Sizes(items=(9,) * 6, tools=5), to_tokens=None)

    assert cut == Cut(conversation=Conversation(items=TALK), tokens=59, least_tokens=23)


def test_what_a_model_said_before_anybody_asked_may_go_first() -> None:
    assert kept(model("hello"), U1, M1, U3, to_tokens=3) == (U1, M1, U3)


def test_what_a_model_said_first_is_not_counted_as_an_exchange_that_was_asked_for() -> None:
    items = (model("hello"), U1, M1, U2, M2, U3)

    cut = drop_oldest(Conversation(items=items), Sizes(items=(1,) * 6), count=1)

    assert cut.conversation.items == (U2, M2, U3)


def test_what_lies_between_and_is_no_history_stays() -> None:
    note, sample = said(Role.USER, "n", Tag.NOTE), said(Role.MODEL, "e", Tag.SAMPLE)

    assert kept(U1, note, M1, sample, U3) == (note, sample, U3)


def test_system_items_within_the_history_stay() -> None:
    told = said(Role.SYSTEM, "told", Tag.HISTORY)

    assert kept(U1, told, M1, U3) == (told, U3)


def test_what_follows_the_newest_user_turn_stays() -> None:
    assert kept(U1, M1, U3, call("a"), result("a")) == (U3, call("a"), result("a"))


def test_questions_that_nobody_answered_go_one_by_one() -> None:
    assert kept(U1, U2, U3, to_tokens=2) == (U2, U3)


def test_questions_that_were_answered_together_go_together() -> None:
    assert kept(U1, U2, M2, U3, to_tokens=3) == (U3,)


def test_a_call_goes_with_its_result_even_if_somebody_spoke_in_between() -> None:
    assert kept(U1, call("a"), U2, result("a"), U3, to_tokens=4) == (U3,)


def test_a_notice_of_media_goes_with_what_it_comes_before() -> None:
    notice = said(Role.USER, "[an image]", Tag.MEDIA_NOTICE)

    assert kept(U1, notice, M1, U2, M2, U3, to_tokens=3) == (U2, M2, U3)


def test_a_notice_of_media_is_not_the_newest_user_turn() -> None:
    notice = said(Role.USER, "[an image]", Tag.MEDIA_NOTICE)

    assert kept(U1, M1, U3, notice, M2) == (U3, notice, M2)


def test_what_hangs_together_by_several_calls_goes_together() -> None:
    chained = (U1, call("a"), U2, result("a"), call("b"), user("u"), result("b"))

    assert kept(*chained, U3, to_tokens=7) == (U3,)


def test_a_call_whose_result_came_after_the_newest_user_turn_stays() -> None:
    items = (U1, M1, U2, call("a"), U3, result("a"))

    assert kept(*items) == items[2:]


def test_a_call_whose_result_is_no_history_stays() -> None:
    items = (U1, call("a"), result("a", None), U2, M2, U3)

    assert kept(*items) == (*items[:3], U3)


def test_a_result_whose_call_is_no_history_stays() -> None:
    items = (call("a", None), U1, result("a"), U2, M2, U3)

    assert kept(*items) == (*items[:3], U3)


def test_a_call_id_that_is_used_again_belongs_to_the_last_call() -> None:
    second = (U2, call("a"), result("a"))

    assert kept(U1, call("a"), result("a"), *second, U3, to_tokens=4) == (*second, U3)


# ── properties ──────────────────────────────────────────────────────────────────────────────


KINDS = (
    *[(role, Tag.HISTORY, None) for role in Role],
    *[(Role.MODEL, Tag.HISTORY, call_id) for call_id in "ab"],
    *[(Role.TOOL, Tag.HISTORY, call_id) for call_id in "ab"],
    (Role.USER, Tag.HISTORY, None),
    (Role.USER, Tag.NOTE, None),
    (Role.MODEL, Tag.SAMPLE, None),
    (Role.MODEL, None, "a"),
    (Role.TOOL, None, "a"),
)


def an_item(number: int, kind: int) -> Item:
    role, tag, call_id = KINDS[kind]
    parts: tuple[Part, ...] = (TextPart(text=f"item {number}"),)
    if call_id and role is Role.MODEL:
        parts += (ToolCallPart(call_id=call_id, name="dice", arguments_json="{}"),)
    elif call_id:
        parts += (ToolResultPart(call_id=call_id, name="dice", result_json="6"),)
    return Item(role=role, parts=parts, tag=tag)


def a_talk_of(rows: list[tuple[int, int]]) -> tuple[Conversation, Sizes]:
    items = tuple(an_item(number, kind) for number, (kind, _) in enumerate(rows))
    return Conversation(items=items), Sizes(items=tuple(size for _, size in rows), tools=7)


ROWS = st.lists(st.tuples(st.integers(0, len(KINDS) - 1), st.integers(1, 50)), max_size=20)
TALKS = ROWS.map(a_talk_of)
BUDGETS = st.integers(-5, 600)


@given(TALKS, BUDGETS)
def test_what_is_left_fits_or_nothing_more_may_go(
    talk: tuple[Conversation, Sizes], budget: int
) -> None:
    cut = cut_to(*talk, to_tokens=budget)

    assert cut.tokens <= budget or exchanges(cut.conversation) == []


@given(TALKS)
def test_the_least_is_what_no_budget_leaves(talk: tuple[Conversation, Sizes]) -> None:
    least = cut_to(*talk, to_tokens=0)

    assert cut_to(*talk, to_tokens=None).least_tokens == least.tokens == least.least_tokens


@given(TALKS, BUDGETS)
def test_its_size_is_that_of_what_is_left(talk: tuple[Conversation, Sizes], budget: int) -> None:
    conversation, sizes = talk
    size_of = dict(zip(conversation.items, sizes.items, strict=True))

    cut = cut_to(conversation, sizes, to_tokens=budget)

    assert cut.tokens == sizes.tools + sum(size_of[item] for item in cut.conversation.items)
    assert cut.items == len(conversation.items) - len(cut.conversation.items)


@given(TALKS, BUDGETS)
def test_nothing_goes_that_need_not_go(talk: tuple[Conversation, Sizes], budget: int) -> None:
    conversation, sizes = talk
    cut = cut_to(conversation, sizes, to_tokens=budget)

    before_last = exchanges(conversation)[: max(0, cut.exchanges - 1)]

    gone = sum(sizes.items[index] for group in before_last for index in group)
    assert cut.exchanges == 0 or sizes.total - gone > budget


@given(TALKS, BUDGETS)
def test_order_is_kept(talk: tuple[Conversation, Sizes], budget: int) -> None:
    left = iter(talk[0].items)

    assert all(item in left for item in cut_to(*talk, to_tokens=budget).conversation.items)


@given(TALKS, BUDGETS)
def test_system_samples_notes_and_the_newest_user_turn_stay(
    talk: tuple[Conversation, Sizes], budget: int
) -> None:
    items = talk[0].items
    asked = [n for n, i in enumerate(items) if i.role is Role.USER and i.tag is Tag.HISTORY]
    newest = asked[-1] if asked else len(items)
    fixed = {
        item
        for n, item in enumerate(items)
        if item.tag is not Tag.HISTORY or item.role is Role.SYSTEM or (asked and n >= newest)
    }

    assert fixed <= set(cut_to(*talk, to_tokens=budget).conversation.items)


@given(TALKS, BUDGETS)
def test_calls_and_results_are_never_parted(talk: tuple[Conversation, Sizes], budget: int) -> None:
    left = set(cut_to(*talk, to_tokens=budget).conversation.items)

    assert all((asked in left) == (got in left) for asked, got in pairs(talk[0].items))


def pairs(items: tuple[Item, ...]) -> list[tuple[Item, Item]]:
    found: list[tuple[Item, Item]] = []
    for n, item in enumerate(items):
        for part in item.parts:
            if isinstance(part, ToolResultPart):
                calls = [
                    earlier
                    for earlier in items[:n]
                    for asked in earlier.parts
                    if isinstance(asked, ToolCallPart) and asked.call_id == part.call_id
                ]
                found.extend((earlier, item) for earlier in calls[-1:])
    return found


@given(TALKS, BUDGETS, BUDGETS)
def test_a_smaller_budget_never_keeps_more(
    talk: tuple[Conversation, Sizes], one: int, other: int
) -> None:
    less = cut_to(*talk, to_tokens=min(one, other)).conversation.items
    more = cut_to(*talk, to_tokens=max(one, other)).conversation.items

    assert set(less) <= set(more)


@given(TALKS, st.integers(0, 12), st.integers(0, 12))
def test_dropping_more_exchanges_never_keeps_more(
    talk: tuple[Conversation, Sizes], one: int, other: int
) -> None:
    less = drop_oldest(*talk, count=max(one, other)).conversation.items
    more = drop_oldest(*talk, count=min(one, other)).conversation.items

    assert set(less) <= set(more)
