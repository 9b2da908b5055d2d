"""What is left out of a conversation so that it fits: whole exchanges, the oldest first."""

from itertools import compress

from turnkeeper.domain.conversation import Conversation, ToolCallPart, ToolResultPart
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.outline import ASKS, may_go, odd

_KEPT = -1


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


_new_cut = maker(Cut)


def cut_to(conversation: Conversation, sizes: Sizes, *, to_tokens: int | None) -> Cut:
    """The conversation in so many tokens; None is as many as it has.

    System items, samples, what carries no history tag and the newest user turn with all that
    follows it stay, even if they do not fit; so do tool calls and results that belong to them.
    """
    total = sizes.total
    over = 0 if to_tokens is None else total - to_tokens
    if over <= 0 and (conversation.is_plain or not _tool_links(conversation)):
        # As mostly. What may go is then all of the history, in whatever exchanges it is.
        gone = sum(compress(sizes.items, may_go(conversation.outline)))
        return _new_cut(conversation=conversation, tokens=total, least_tokens=total - gone)
    groups = exchanges(conversation)
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
    groups = exchanges(conversation)
    weights = _weights(groups, sizes)
    if count > 0 and groups and not any(conversation.outline[i] & ASKS for i in groups[0]):
        count += 1
    total, gone = sizes.total, sum(weights[: max(0, count)])
    least = total - sum(weights)
    return _without(conversation, groups[: max(0, count)], tokens=total - gone, least=least)


def exchanges(conversation: Conversation) -> list[list[int]]:
    """The indexes of what may go, oldest first, in groups that only go together.

    An exchange is what users say and what is then said and done until a user speaks again. What
    users say last without an answer goes item by item.
    """
    groups = _spoken(conversation.outline)
    links = _tool_links(conversation)
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


def _spoken(outline: bytes) -> list[list[int]]:
    """The history before the newest user turn, in exchanges."""
    groups: list[list[int]] = []
    has_asked = False  # whether the last group is still only questions
    for index, kind in compress(enumerate(outline), may_go(outline)):
        asks = kind & ASKS != 0
        if (asks and not has_asked) or not groups:
            groups.append([index])
        else:
            groups[-1].append(index)
        has_asked = asks
    if groups and has_asked:
        groups.extend([index] for index in groups.pop())
    return groups


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


def _tool_links(conversation: Conversation) -> list[tuple[int, int]]:
    """Pairs of indexes: an item with a tool call, and the later one with its result."""
    links: list[tuple[int, int]] = []
    calls: dict[str, int] = {}
    if conversation.is_plain:
        return links
    for index, item in compress(enumerate(conversation.items), odd(conversation.outline)):
        for part in item.parts:
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
        return _new_cut(conversation=conversation, tokens=tokens, least_tokens=least)
    kept = tuple(item for index, item in enumerate(conversation.items) if index not in gone)
    return _new_cut(
        conversation=replace(conversation, items=kept),
        tokens=tokens,
        least_tokens=least,
        exchanges=len(groups),
        items=len(gone),
    )
