import pytest

from turnkeeper.domain.conversation import Conversation, Item, Role, Tag, ToolSpec
from turnkeeper.domain.scaffolding import scaffolded

DICE = ToolSpec(name="roll_dice", description="Rolls a die.", schema_json='{"type":"object"}')
SYSTEM = Item.said(Role.SYSTEM, "be brief", None)
SAID = tuple(Item.said((Role.USER, Role.MODEL)[n % 2], f"{n}") for n in range(5))
BASE = Conversation(items=(SYSTEM, *SAID), tools=(DICE,))
OWN_SCHEMAS = Item.said(Role.SYSTEM, "my schemas", Tag.TOOL_SCHEMAS)
OWN_NUDGE = Item.said(Role.USER, "use them", Tag.TOOL_NUDGE)


def tags(conversation: Conversation) -> list[Tag | None]:
    return [item.tag for item in conversation.items]


def test_the_schemas_come_before_the_history_and_the_nudge_before_its_last_three() -> None:
    told = scaffolded(BASE, verbatim=True)

    assert tags(told) == [
        None,
        Tag.TOOL_SCHEMAS,
        *[Tag.HISTORY] * 2,
        Tag.TOOL_NUDGE,
        *[Tag.HISTORY] * 3,
    ]


def test_the_schemas_are_verbatim() -> None:
    told = scaffolded(BASE, verbatim=True)

    assert '- roll_dice: Rolls a die.\n  {"type":"object"}' in told.items[1].text


def test_without_history_both_are_at_the_end() -> None:
    told = scaffolded(Conversation(items=(SYSTEM,), tools=(DICE,)), verbatim=True)

    assert tags(told) == [None, Tag.TOOL_NUDGE, Tag.TOOL_SCHEMAS]


@pytest.mark.parametrize("own", [OWN_SCHEMAS, OWN_NUDGE])
def test_the_half_that_is_there_stays_and_the_other_is_added(own: Item) -> None:
    base = Conversation(items=(SYSTEM, own, *SAID), tools=(DICE,))

    told = scaffolded(base, verbatim=True)

    assert own in told.items
    assert sorted(tag.value for tag in tags(told) if tag in {Tag.TOOL_SCHEMAS, Tag.TOOL_NUDGE}) == [
        "tool_nudge",
        "tool_schemas",
    ]


def test_where_both_are_there_nothing_changes() -> None:
    base = Conversation(items=(OWN_SCHEMAS, OWN_NUDGE, *SAID), tools=(DICE,))

    assert scaffolded(base, verbatim=True) == base


@pytest.mark.parametrize("own", [(OWN_SCHEMAS,), (OWN_NUDGE,), (OWN_SCHEMAS, OWN_NUDGE)])
def test_a_model_that_does_not_need_them_gets_neither(own: tuple[Item, ...]) -> None:
    base = Conversation(items=(SYSTEM, *own, *SAID), tools=(DICE,))

    assert scaffolded(base, verbatim=False) == BASE


def test_a_users_own_note_is_no_nudge() -> None:
    note = Item.said(Role.USER, "use tools", Tag.NOTE)
    base = Conversation(items=(note, *SAID), tools=(DICE,))

    assert scaffolded(base, verbatim=False) == base


def test_without_tools_there_is_nothing_to_tell() -> None:
    base = Conversation(items=(SYSTEM, OWN_NUDGE, *SAID))

    assert scaffolded(base, verbatim=True) == Conversation(items=(SYSTEM, *SAID))


def test_the_nudge_is_not_put_between_a_call_and_its_result() -> None:
    roles = (Role.USER, Role.MODEL, Role.TOOL, Role.MODEL, Role.USER)
    base = Conversation(items=tuple(Item.said(role, "x") for role in roles), tools=(DICE,))

    told = scaffolded(base, verbatim=True)

    assert [item.role for item in told.items if item.tag is not Tag.TOOL_SCHEMAS] == [
        Role.USER,
        Role.USER,
        *roles[1:],
    ]
