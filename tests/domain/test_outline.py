"""A conversation at a glance says what looking at each item says."""

import pytest
from hypothesis import given
from talks import ITEMS, PLAIN_ITEMS, talks

from turnkeeper.domain.conversation import Conversation, Item, Role, Tag, TextPart, ToolSpec
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outline import ASKS, MAY_GO, MODEL, ODD, SYSTEM, TOOL, USER, may_go, odd
from turnkeeper.domain.token_estimate import item_tokens, sizes_by, sizes_of, tokens_of

SCAFFOLDING = (Tag.TOOL_SCHEMAS, Tag.TOOL_NUDGE)


def kind_of(item: Item) -> int:
    return Conversation(items=(item,)).outline[0]


def is_plain(item: Item) -> bool:
    return (
        len(item.parts) == 1
        and isinstance(item.parts[0], TextPart)
        and item.text != ""
        and not item.media
        and item.role is not Role.TOOL
        and item.tag not in SCAFFOLDING
    )


def goes(item: Item) -> bool:
    is_said = item.tag is Tag.HISTORY and item.role is not Role.SYSTEM
    return is_said or item.tag is Tag.MEDIA_NOTICE


def asks(item: Item) -> bool:
    return item.tag is Tag.HISTORY and item.role is Role.USER


@given(ITEMS)
def test_a_byte_says_who_says_an_item_and_what_it_is(item: Item) -> None:
    kind = kind_of(item)

    assert (Role.SYSTEM, Role.USER, Role.MODEL, Role.TOOL)[kind & 3] is item.role
    assert [kind & bit != 0 for bit in (MAY_GO, ASKS, ODD)] == [
        goes(item),
        asks(item),
        not is_plain(item),
    ]


@given(talks())
def test_an_outline_says_the_same_of_each_item(talk: Conversation) -> None:
    again = Conversation(items=talk.items)

    assert talk.outline == bytes(map(kind_of, talk.items)) == talk.outline
    assert again.outline == talk.outline  # now that all of them are known
    assert talk.odd == tuple(item for item in talk.items if not is_plain(item))
    assert talk.is_plain is all(map(is_plain, talk.items))
    assert list(odd(talk.outline)) == [not is_plain(item) for item in talk.items]


@given(talks())
def test_the_history_before_the_newest_user_turn_may_go(talk: Conversation) -> None:
    asked = [at for at, item in enumerate(talk.items) if asks(item)]
    before = talk.items[: asked[-1]] if asked else ()

    assert list(may_go(talk.outline)) == [goes(item) for item in before]


def test_a_plain_talk_reads_like_this() -> None:
    talk = Conversation.of("hi", system="Be brief.")

    assert talk.outline == bytes([SYSTEM, USER | MAY_GO | ASKS])
    assert kind_of(Item.said(Role.MODEL, "hello")) == MODEL | MAY_GO
    assert kind_of(Item(role=Role.TOOL)) == TOOL | ODD


@given(talks(), talks(PLAIN_ITEMS))
def test_an_item_is_as_long_wherever_it_is_said(one: Conversation, other: Conversation) -> None:
    both = Conversation(items=(*one.items, *other.items))
    expected = tuple(item_tokens(item) for item in both.items)

    assert sizes_by(both, tokens_of).items == expected
    assert sizes_of(one).items + sizes_of(other).items == expected
    assert sizes_of(both).items == sizes_of(both).items == expected


def test_an_item_is_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return tokens_of(text)

    talk = Conversation.of("hi", system="Be brief.")
    longer = Conversation(items=(*talk.items, Item.said(Role.MODEL, "hello")))

    assert sizes_of(talk, count).items == sizes_of(longer, count).items[:2]
    assert counted == ["Be brief.", "hi", "hello"]


def test_a_short_item_is_written_once() -> None:
    written: list[str] = []

    def write(item: Item) -> str:
        written.append(item.text)
        return f"<{item.text}>"

    long = "ha" * 3_000
    talk = Conversation.of("hi", system=long)
    longer = Conversation(items=(*talk.items, Item.said(Role.MODEL, "hello")))

    assert talk.as_written(write) == [f"<{long}>", "<hi>"]
    assert longer.as_written(write) == longer.as_written(write)
    assert longer.as_written(write) == [f"<{long}>", "<hi>", "<hello>"]
    assert written == [long, "hi", long, "hello", long, long]


def test_what_is_known_of_an_item_stays_known() -> None:
    talk = Conversation.of("hi")
    before = talk.outline, talk.tokens(item_tokens), talk.as_written(lambda item: item.text)

    again = Conversation(items=talk.items)

    def never(item: Item) -> int:
        raise AssertionError(f"{item} is known")

    assert (again.outline, again.tokens(never), again.as_written(never)) == before


def test_nothing_is_known_of_no_items() -> None:
    empty = Conversation()

    assert (empty.outline, empty.is_plain, empty.odd) == (b"", True, ())
    assert (empty.tokens(item_tokens), empty.as_written(item_tokens)) == ((), [])


def test_a_tool_is_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return tokens_of(text)

    dice = ToolSpec(name="dice", description="Rolls a die.", schema_json="{}")
    coin = ToolSpec(name="coin", schema_json="{}")
    talk, other = Conversation(tools=(dice,)), Conversation(tools=(dice, coin))

    assert sizes_of(talk, count) == sizes_of(talk, count) == sizes_by(talk, tokens_of)
    assert sizes_of(other, count) == sizes_by(other, tokens_of)
    assert counted == ["dice", "Rolls a die.", "{}", "coin", "", "{}"]


@pytest.mark.parametrize("tag", [None, Tag.NOTE])
def test_an_item_that_is_changed_is_looked_at_anew(tag: Tag | None) -> None:
    talk = Conversation.of("hi")
    before = talk.outline, sizes_of(talk)
    changed = replace(
        talk, items=(replace(talk.items[0], parts=(TextPart(text="longer"),), tag=tag),)
    )

    assert (changed.outline, sizes_of(changed)) != before
    assert changed.outline == bytes([USER])
    assert (talk.outline, sizes_of(talk)) == before
