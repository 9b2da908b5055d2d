"""What is left out of a conversation so that it fits: whole exchanges, the oldest first."""

from collections.abc import Sequence

from turnkeeper.domain.conversation import (
    Conversation,
    Item,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.frozen import frozen, replace

_KEPT = -1
# Looking up an enum's member takes as long as a call, and these are asked of every item.
_HISTORY, _MEDIA_NOTICE = Tag.HISTORY, Tag.MEDIA_NOTICE
_SYSTEM, _USER = Role.SYSTEM, Role.USER


@frozen
class Sizes:
    """How many tokens a conversation is.

    Attributes:
        items: One number an item.
        tools: All tools together.
    """

    items: tuple[int, ...]
    tools: int = 0

    @property
    def total(self) -> int:
        """The whole conversation."""
        return sum(self.items) + self.tools


@frozen
class Cut:
    """A conversation after the cut.

    Attributes:
        conversation: What is left, in its order.
        tokens: How many tokens that is.
        least_tokens: ... and would be with everything left out that may be.
        exchanges: How many exchanges were left out.
        items: How many items those were.
    """

    conversation: Conversation
    tokens: int
    least_tokens: int
    exchanges: int = 0
    items: int = 0


def cut_to(conversation: Conversation, sizes: Sizes, *, to_tokens: int | None) -> Cut:
    """The conversation in so many tokens; None is as many as it has.

    System items, samples, what carries no history tag and the newest user turn with all that
    follows it stay, even if they do not fit; so do tool calls and results that belong to them.
    """
    total = sizes.total
    over = 0 if to_tokens is None else total - to_tokens
    if over <= 0 and not _tool_links(conversation.items):
        # As mostly. What may go is then all of the history, in whatever exchanges it is.
        may_go = sum([sizes.items[index] for index in _history(conversation.items)[:-1]])
        return _without(conversation, [], tokens=total, least=total - may_go)
    groups = exchanges(conversation.items)
    weights = _weights(groups, sizes)
    count, gone = 0, 0
    while gone < over and count < len(groups):
        gone += weights[count]
        count += 1
    return _without(conversation, groups[:count], tokens=total - gone, least=total - sum(weights))


def drop_oldest(conversation: Conversation, sizes: Sizes, *, count: int) -> Cut:
    """The conversation without so many of its oldest exchanges, where it has them.

    What a model said before anybody asked goes with the first of them and is not counted.
    """
    groups = exchanges(conversation.items)
    weights = _weights(groups, sizes)
    if count > 0 and groups and not any(_asks(conversation.items[i]) for i in groups[0]):
        count += 1
    total, gone = sizes.total, sum(weights[: max(0, count)])
    least = total - sum(weights)
    return _without(conversation, groups[: max(0, count)], tokens=total - gone, least=least)


def exchanges(items: Sequence[Item]) -> list[list[int]]:
    """The indexes of what may go, oldest first, in groups that only go together.

    An exchange is what users say and what is then said and done until a user speaks again. What
    users say last without an answer goes item by item.
    """
    groups = _spoken(items)
    links = _tool_links(items)
    return _linked(groups, links) if links else groups


def _linked(groups: list[list[int]], links: list[tuple[int, int]]) -> list[list[int]]:
    """The groups, with each tool call and its result in the same one, or both in none."""
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    reaches = list(range(len(groups)))
    pinned = [False] * len(groups)
    for call, result in links:
        first, last = group_of.get(call, _KEPT), group_of.get(result, _KEPT)
        if _KEPT not in (first, last):
            reaches[first] = max(reaches[first], last)
        elif first != last:
            pinned[max(first, last)] = True
    return _joined(groups, reaches, pinned)


def _spoken(items: Sequence[Item]) -> list[list[int]]:
    """The history before the newest user turn, in exchanges."""
    groups: list[list[int]] = []
    has_asked = False  # whether the last group is still only questions
    for index in _history(items)[:-1]:
        asks = _asks(items[index])
        if (asks and not has_asked) or not groups:
            groups.append([index])
        else:
            groups[-1].append(index)
        has_asked = asks
    if groups and has_asked:
        groups.extend([index] for index in groups.pop())
    return groups


def _history(items: Sequence[Item]) -> list[int]:
    """The indexes of the history up to the newest user turn."""
    history = [
        index
        for index, item in enumerate(items)
        if (item.tag is _HISTORY and item.role is not _SYSTEM) or item.tag is _MEDIA_NOTICE
    ]
    while history and not _asks(items[history[-1]]):
        history.pop()
    return history


def _joined(groups: list[list[int]], reaches: list[int], pinned: list[bool]) -> list[list[int]]:
    """Groups that a tool call and its result lie in become one; pinned ones are left out."""
    joined: list[list[int]] = []
    number = 0
    while number < len(groups):
        last, at = reaches[number], number
        while at < last:
            at += 1
            last = max(last, reaches[at])
        if not any(pinned[number : last + 1]):
            joined.append([index for group in groups[number : last + 1] for index in group])
        number = last + 1
    return joined


def _tool_links(items: Sequence[Item]) -> list[tuple[int, int]]:
    """Pairs of indexes: an item with a tool call, and the later one with its result."""
    links: list[tuple[int, int]] = []
    calls: dict[str, int] = {}
    for index, item in enumerate(items):
        parts = item.parts
        if len(parts) == 1 and type(parts[0]) is TextPart:
            continue
        for part in parts:
            if isinstance(part, ToolCallPart):
                calls[part.call_id] = index
            elif isinstance(part, ToolResultPart) and part.call_id in calls:
                links.append((calls[part.call_id], index))
    return links


def _weights(groups: list[list[int]], sizes: Sizes) -> list[int]:
    tokens = sizes.items
    return [sum([tokens[index] for index in group]) for group in groups]


def _without(
    conversation: Conversation, groups: list[list[int]], *, tokens: int, least: int
) -> Cut:
    gone = {index for group in groups for index in group}
    if not gone:
        return Cut(conversation=conversation, tokens=tokens, least_tokens=least)
    kept = tuple(item for index, item in enumerate(conversation.items) if index not in gone)
    return Cut(
        conversation=replace(conversation, items=kept),
        tokens=tokens,
        least_tokens=least,
        exchanges=len(groups),
        items=len(gone),
    )


def _asks(item: Item) -> bool:
    return item.role is _USER and item.tag is _HISTORY
