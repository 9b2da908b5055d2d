"""The conversation that a model is asked to go on with."""

from dataclasses import field
from enum import Enum

from turnkeeper.domain.frozen import frozen


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


@frozen
class Item:
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


@frozen
class ToolSpec:
    """A tool that the model may call.

    Attributes:
        name: Unique within the turn.
        description: What it does, for the model.
        schema_json: A JSON schema of its arguments.
    """

    name: str
    description: str = ""
    schema_json: str = '{"type":"object","properties":{}}'


@frozen
class Conversation:
    """The items of a turn and the tools that go with them."""

    items: tuple[Item, ...] = ()
    tools: tuple[ToolSpec, ...] = field(default=())

    @classmethod
    def of(cls, prompt: str, *, system: str = "") -> "Conversation":
        """A conversation of one prompt, and a system text if there is one."""
        before = (Item.said(Role.SYSTEM, system, None),) if system else ()
        return cls(items=(*before, Item.said(Role.USER, prompt)))
