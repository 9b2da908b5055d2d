"""The conversation that a model is asked to go on with."""

from collections.abc import Callable
from dataclasses import field
from enum import Enum
from itertools import compress
from typing import Any, TypeVar

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

    They are None until somebody asks.
    """

    __slots__ = ("_chat", "_kind", "_tokens")
    _chat: Any  # how it is written to most providers
    _kind: Any  # its byte in an outline
    _tokens: Any  # about how many it is


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


Told = TypeVar("Told", Item, ToolSpec)


class _OfConversation:
    """What follows from a conversation: all steps of a turn, and all its attempts, ask for it."""

    __slots__ = ("_outline",)
    _outline: Any


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
        if self._outline is None:
            keep(Conversation._outline, (self,), (_outline_of(self.items),))
        return self._outline  # type: ignore[no-any-return]

    @property
    def is_plain(self) -> bool:
        """Whether all its items are texts that somebody said, and none is empty or scaffolding."""
        return (self._outline or self.outline).isascii()  # as the odd bit is the eighth

    @property
    def odd(self) -> tuple[Item, ...]:
        """Its items that are something else."""
        if self.is_plain:
            return ()
        return tuple(compress(self.items, odd(self.outline)))

    def tokens(self, estimate: Callable[[Item], int]) -> list[int]:
        """About how many tokens each item is.

        Args:
            estimate: Says it of one, and the same whoever asks; of each it is asked only once.
        """
        return _tokens_of(self.items, Item._tokens, estimate)

    def as_written(self, write: Callable[[Item], object]) -> list[Any]:
        """How each item is written to a provider. Of a short one that is kept with it.

        Args:
            write: Writes one, and the same whoever asks.
        """
        written = [item._chat for item in self.items]
        if all(written):
            return written
        return [item._chat or _written(item, write) for item in self.items]

    def tool_tokens(self, estimate: Callable[[ToolSpec], int]) -> list[int]:
        """The same of each tool."""
        return _tokens_of(self.tools, ToolSpec._tokens, estimate)


def _written(item: Item, write: Callable[[Item], object]) -> object:
    written = write(item)
    if len(item.text) <= _MOST_KEPT_CHARS:
        keep(Item._chat, (item,), (written,))
    return written


def _tokens_of(told: tuple[Told, ...], slot: Any, estimate: Callable[[Told], int]) -> list[int]:
    tokens = [one._tokens for one in told]
    if all(tokens):
        return tokens
    new = [one for one in told if one._tokens is None]
    keep(slot, new, map(estimate, new))
    return [one._tokens for one in told]


def _outline_of(items: tuple[Item, ...]) -> bytes:
    try:
        return bytes([item._kind for item in items])
    except TypeError:
        new = [item for item in items if item._kind is None]
        keep(Item._kind, new, map(_kind_of, new))
    return bytes([item._kind for item in items])
