"""The conversation that a model is asked to go on with."""

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from itertools import compress
from operator import itemgetter
from typing import Any

from turnkeeper.domain.frozen import frozen, keep
from turnkeeper.domain.outline import ASKS, MAY_GO, MODEL, ODD, SYSTEM, TOOL, USER, odd


class Role(Enum):
    """Who says an item."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL = "tool"


class Tag(Enum):
    """What an item is for; what is kept and what may be dropped goes by it."""

    HISTORY = "history"
    SAMPLE = "sample"
    NOTE = "note"
    MEDIA_NOTICE = "media_notice"
    TOOL_SCHEMAS = "tool_schemas"
    TOOL_NUDGE = "tool_nudge"


class MediaKind(Enum):
    """What a media descriptor points at."""

    IMAGE = "image"
    VIDEO = "video"


@frozen
class TextPart:
    """Plain text."""

    text: str


@frozen
class ImagePart:
    """An image by address or inline, ``data:image/png;base64,…``."""

    uri: str
    mime_type: str | None = None


@frozen
class VideoPart:
    """A video by address."""

    uri: str
    mime_type: str | None = None


@frozen
class ToolCallPart:
    """A call that the model asked for.

    Attributes:
        call_id: The provider's id for it, or our own where it gives none.
        name: The tool.
        arguments_json: The arguments as the model wrote them.
        signature: What must be sent back unchanged with it (Gemini, Anthropic), or None.
    """

    call_id: str
    name: str
    arguments_json: str
    signature: str | None = None


@frozen
class ToolResultPart:
    """What a tool gave, for the model to read."""

    call_id: str
    name: str
    result_json: str


@frozen
class ReasoningPart:
    """Thinking that the provider wants back unchanged within a tool turn.

    Attributes:
        text: What was thought, possibly empty.
        opaque_json: The provider's own structure for it, or None.
    """

    text: str
    opaque_json: str | None = None


Part = TextPart | ImagePart | VideoPart | ToolCallPart | ToolResultPart | ReasoningPart


@frozen
class MediaDescriptor:
    """Media that an item carries, before it is known which model will see it.

    Attributes:
        kind: Image or video.
        uri: Where it is.
        mime_type: As claimed; None is unknown.
        fallback_uri: Where else it is, or None.
        media_id: What the model calls it.
        in_window: Whether it is recent enough to be shown.
    """

    kind: MediaKind
    uri: str
    mime_type: str | None = None
    fallback_uri: str | None = None
    media_id: str = ""
    in_window: bool = True


class _OfItem:
    """What follows from an item: kept with it, as a host has most of them in turn after turn.

    None until somebody asks. Then what it is in an outline, about how many tokens it is, and how
    it is written to most providers; these two are None until somebody asks for them.
    """

    __slots__ = ("_facts",)
    _facts: Any


@frozen
class Item(_OfItem):
    """One thing said.

    Attributes:
        role: Who says it.
        parts: What is said, in order.
        tag: What it is for; None is kept and never dropped.
        media: Descriptors that an attempt turns into parts or notices.
        message_id: The host's id of the message it came from, or None.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    tag: Tag | None = None
    media: tuple[MediaDescriptor, ...] = ()
    message_id: str | None = None

    @property
    def text(self) -> str:
        """All its text parts, joined."""
        parts = self.parts
        if len(parts) == 1 and type(part := parts[0]) is TextPart:  # as most items are
            return part.text
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @classmethod
    def said(cls, role: Role, text: str, tag: Tag | None = Tag.HISTORY) -> "Item":
        """An item of one text."""
        return cls(role=role, parts=(TextPart(text=text),), tag=tag)


_MOST_KEPT_CHARS = 4_000
"""Of how long a text what was written of it is kept: it takes as much memory again."""
# Looking up an enum's member takes as long as a call.
_ROLES = {"system": SYSTEM, "user": USER, "model": MODEL, "tool": TOOL}
_HISTORY, _MEDIA_NOTICE = Tag.HISTORY, Tag.MEDIA_NOTICE
_SCHEMAS, _NUDGE = Tag.TOOL_SCHEMAS, Tag.TOOL_NUDGE
_AS_HISTORY = {SYSTEM: 0, USER: MAY_GO | ASKS, MODEL: MAY_GO, TOOL: MAY_GO}


def _kind_of(item: Item) -> int:
    role, tag, parts = _ROLES[item.role._value_], item.tag, item.parts
    kind = role
    if tag is _HISTORY:
        kind |= _AS_HISTORY[role]
    elif tag is _MEDIA_NOTICE:
        kind |= MAY_GO
    is_text = len(parts) == 1 and type(parts[0]) is TextPart and parts[0].text
    if not is_text or item.media or role == TOOL or tag is _SCHEMAS or tag is _NUDGE:
        kind |= ODD
    return kind


class _OfTool:
    """What follows from a tool."""

    __slots__ = ("_tokens",)
    _tokens: Any  # about how many it is; None until somebody asks


@frozen
class ToolSpec(_OfTool):
    """A tool that the model may call.

    Attributes:
        name: Unique within the turn.
        description: What it does, for the model.
        schema_json: A JSON schema of its arguments.
    """

    name: str
    description: str = ""
    schema_json: str = '{"type":"object","properties":{}}'


_Facts = tuple[bytes, tuple[Any, ...], tuple[Any, ...]]
"""An outline, and of each item the two other facts that are kept with it."""


class _OfConversation:
    """What follows from a conversation: all steps of a turn, and all its attempts, ask for it."""

    __slots__ = ("_facts",)
    _facts: Any  # `_Facts`, gathered in one go, as there may be hundreds of items


@frozen
class Conversation(_OfConversation):
    """The items of a turn and the tools that go with them."""

    items: tuple[Item, ...] = ()
    tools: tuple[ToolSpec, ...] = field(default=())

    @classmethod
    def of(cls, prompt: str, *, system: str = "") -> "Conversation":
        """A conversation of one prompt, and a system text if there is one."""
        before = (Item.said(Role.SYSTEM, system, None),) if system else ()
        return cls(items=(*before, Item.said(Role.USER, prompt)))

    @property
    def outline(self) -> bytes:
        """What its items are at a glance, a byte each; see `turnkeeper.domain.outline`."""
        return (self._facts or self._gathered())[0]

    @property
    def is_plain(self) -> bool:
        """Whether all its items are texts that somebody said, and none is empty or scaffolding."""
        return (self._facts or self._gathered())[0].isascii()  # as the odd bit is the eighth

    @property
    def odd(self) -> tuple[Item, ...]:
        """Its items that are something else."""
        if self.is_plain:
            return ()
        return tuple(compress(self.items, odd(self.outline)))

    def tokens(self, estimate: Callable[[Item], int]) -> tuple[int, ...]:
        """About how many tokens each item is.

        Args:
            estimate: Says it of one, and the same whoever asks; of each it is asked only once.
        """
        outline, known, written = self._facts or self._gathered()
        if all(known):
            return known
        new = _places_of_none(known)
        tokens = _with(known, new, [estimate(self.items[at]) for at in new])
        self._keep((outline, tokens, written), new)
        return tokens

    def as_written(self, write: Callable[[Item], object]) -> list[Any]:
        """How each item is written to a provider. Of a short one that is kept with it.

        Args:
            write: Writes one, and the same whoever asks.
        """
        outline, tokens, known = self._facts or self._gathered()
        if all(known):
            return list(known)
        new = _places_of_none(known)
        written = _with(known, new, [write(self.items[at]) for at in new])
        short = [at for at in new if len(self.items[at].text) <= _MOST_KEPT_CHARS]
        if short:
            kept = _with(known, short, [written[at] for at in short])
            self._keep((outline, tokens, kept), short)
        return list(written)

    def tool_tokens(self, estimate: Callable[[ToolSpec], int]) -> list[int]:
        """About how many tokens each tool is, as with items."""
        new = [tool for tool in self.tools if tool._tokens is None]
        keep(ToolSpec._tokens, new, map(estimate, new))
        return [tool._tokens for tool in self.tools]

    def _gathered(self) -> _Facts:
        """What is known of its items, kept for all who ask."""
        facts = _facts_of(self.items)
        Conversation._facts.__set__(self, facts)
        return facts

    def _keep(self, facts: _Facts, places: list[int]) -> None:
        """Keep what is known, with the items in these places too."""
        items = [self.items[at] for at in places]
        keep(Item._facts, items, [tuple([fact[at] for fact in facts]) for at in places])
        Conversation._facts.__set__(self, facts)


def _with(known: tuple[Any, ...], places: list[int], found: list[Any]) -> tuple[Any, ...]:
    """What is known, and in these places what was found."""
    whole = list(known)
    for at, one in zip(places, found, strict=True):
        whole[at] = one
    return tuple(whole)


def _places_of_none(known: Sequence[Any]) -> list[int]:
    return [at for at, one in enumerate(known) if one is None]


_kind, _tokens, _written = map(itemgetter, range(3))


def _facts_of(items: tuple[Item, ...]) -> _Facts:
    if not items:
        return b"", (), ()
    facts = [item._facts for item in items]
    if None in facts:
        new = _places_of_none(facts)
        for at in new:
            facts[at] = (_kind_of(items[at]), None, None)
        keep(Item._facts, [items[at] for at in new], [facts[at] for at in new])
    return bytes(map(_kind, facts)), tuple(map(_tokens, facts)), tuple(map(_written, facts))
