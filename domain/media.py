"""Media as one model sees them: parts where it can, notices where it cannot."""

from collections.abc import Callable

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
    VideoPart,
)
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.model import Capabilities
from turnkeeper.domain.outline import odd

BLIND = Capabilities()


@frozen
class Readable:
    """Media that can be sent.

    Attributes:
        uri: From where, or inline.
        mime_type: What it is by its content; None is unknown.
    """

    uri: str
    mime_type: str | None = None


@frozen(kw_only=False)
class Unreadable:
    """Media that cannot be sent, and why: what goes on after ``an image is here, which``."""

    why: str


Reading = Readable | Unreadable
Asked = tuple[MediaKind, str, str | None]
"""What media are to be, where they are, and what type they are said to have."""
Read = Callable[[MediaKind, str, str | None], Reading]


def as_claimed(kind: MediaKind, uri: str, mime_type: str | None) -> Reading:
    """Media taken at its word."""
    return Readable(uri=uri, mime_type=mime_type)


def has_media(conversation: Conversation) -> bool:
    """Whether any item carries an image or a video."""
    return not conversation.is_plain and any(
        item.media or any(isinstance(part, ImagePart | VideoPart) for part in item.parts)
        for item in conversation.odd
    )


def without_media(conversation: Conversation) -> Conversation:
    """The conversation with a notice in the place of each image and video."""
    return as_seen(conversation, BLIND)


def as_seen(
    conversation: Conversation, capabilities: Capabilities, read: Read = as_claimed
) -> Conversation:
    """The conversation with all media as parts, or as notices of what the model cannot see.

    An item's media come first, then its notices, then what it says. A model's own go into an
    item before it, which speaks as the user.

    Args:
        read: What a piece of media is.
    """
    if not has_media(conversation):
        return conversation
    items: list[Item] = []
    for item, is_odd in zip(conversation.items, odd(conversation.outline), strict=True):
        items.extend(_seen(item, capabilities, read) if is_odd else (item,))
    return replace(conversation, items=tuple(items))


def _seen(item: Item, capabilities: Capabilities, read: Read) -> tuple[Item, ...]:
    shown = [_shown(one, capabilities, read) for one in item.media]
    if item.role is Role.MODEL:
        own = [part for part in item.parts if isinstance(part, ImagePart | VideoPart)]
        shown += [_as_part(part, capabilities, read) for part in own]
        rest = tuple(part for part in item.parts if part not in own)
    else:
        rest = tuple(_as_part(part, capabilities, read) for part in item.parts)
    if not shown:
        return (item if rest == item.parts else replace(item, parts=rest),)
    shown.sort(key=lambda part: isinstance(part, TextPart))  # media, then notices
    if item.role is not Role.MODEL:
        return (replace(item, parts=(*shown, *rest), media=()),)
    before = Item(role=Role.USER, parts=tuple(shown), tag=_tag_before(item))
    after = replace(item, parts=rest, media=())
    return (before, after) if rest else (before,)


def _tag_before(item: Item) -> Tag | None:
    """What goes with history is dropped with it; what stays, stays."""
    return Tag.MEDIA_NOTICE if item.tag is Tag.HISTORY else item.tag


def _shown(one: MediaDescriptor, capabilities: Capabilities, read: Read) -> Part:
    name = f"{one.kind.value} {one.media_id}".strip()
    if not one.in_window:
        return _notice(name, "is too far back to be shown")
    if not _sees(one.kind, capabilities):
        return _notice(name, "is here, which this model cannot see")
    reading = read(one.kind, one.uri, one.mime_type)
    if isinstance(reading, Unreadable) and one.fallback_uri:
        reading = read(one.kind, one.fallback_uri, one.mime_type)
    return _read_as(one.kind, name, reading)


def _as_part(part: Part, capabilities: Capabilities, read: Read) -> Part:
    match part:
        case ImagePart(uri=uri, mime_type=mime_type):
            kind = MediaKind.IMAGE
        case VideoPart(uri=uri, mime_type=mime_type):
            kind = MediaKind.VIDEO
        case _:
            return part
    if not _sees(kind, capabilities):
        return _notice(kind.value, "is here, which this model cannot see")
    return _read_as(kind, kind.value, read(kind, uri, mime_type))


def _read_as(kind: MediaKind, name: str, reading: Reading) -> Part:
    match reading, kind:
        case Readable(uri=uri, mime_type=mime_type), MediaKind.IMAGE:
            return ImagePart(uri=uri, mime_type=mime_type)
        case Readable(uri=uri, mime_type=mime_type), _:
            return VideoPart(uri=uri, mime_type=mime_type)
        case Unreadable(why=why), _:
            return _notice(name, f"is here, which {why}")


def _sees(kind: MediaKind, capabilities: Capabilities) -> bool:
    return capabilities.images if kind is MediaKind.IMAGE else capabilities.videos


def _notice(name: str, what: str) -> TextPart:
    article = "an" if name.startswith("image") else "a"
    return TextPart(text=f"[{article} {name} {what}]")
