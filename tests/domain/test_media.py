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
from turnkeeper.domain.media import (
    Readable,
    Reading,
    Unreadable,
    as_claimed,
    as_seen,
    has_media,
    without_media,
)
from turnkeeper.domain.model import Capabilities

SEES = Capabilities(images=True, videos=True)
ONLY_IMAGES = Capabilities(images=True)
BLIND = Capabilities()
HELLO = TextPart(text="look")
CAT = MediaDescriptor(kind=MediaKind.IMAGE, uri="https://img.example.org/cat.png", media_id="m1")
FILM = MediaDescriptor(kind=MediaKind.VIDEO, uri="https://img.example.org/film.mp4", media_id="v1")
OLD = MediaDescriptor(
    kind=MediaKind.IMAGE, uri="https://img.example.org/old.png", media_id="m0", in_window=False
)
CAT_PART, FILM_PART = ImagePart(uri=CAT.uri), VideoPart(uri=FILM.uri)


def text(words: str) -> TextPart:
    return TextPart(text=words)


def an_item(*media: MediaDescriptor, role: Role = Role.USER, tag: Tag | None = Tag.HISTORY) -> Item:
    return Item(role=role, parts=(HELLO,), tag=tag, media=media)


def seen(item: Item, can: Capabilities) -> tuple[Item, ...]:
    return as_seen(Conversation(items=(item,)), can).items


def parts(item: Item, can: Capabilities) -> tuple[Part, ...]:
    (one,) = seen(item, can)
    assert one.media == ()
    return one.parts


def test_a_model_that_sees_gets_the_media_before_the_text() -> None:
    assert parts(an_item(CAT, FILM), SEES) == (CAT_PART, FILM_PART, HELLO)


def test_a_model_that_sees_nothing_gets_notices_before_the_text() -> None:
    assert parts(an_item(CAT, FILM), BLIND) == (
        text("[an image m1 is here, which this model cannot see]"),
        text("[a video v1 is here, which this model cannot see]"),
        HELLO,
    )


def test_a_model_that_sees_images_gets_those_and_a_notice_of_the_video_after_them() -> None:
    assert parts(an_item(FILM, CAT), ONLY_IMAGES) == (
        CAT_PART,
        text("[a video v1 is here, which this model cannot see]"),
        HELLO,
    )


def test_what_is_too_far_back_does_not_hide_the_rest() -> None:
    assert parts(an_item(OLD, CAT), SEES) == (
        CAT_PART,
        text("[an image m0 is too far back to be shown]"),
        HELLO,
    )


def test_a_models_own_media_go_into_an_item_before_it() -> None:
    assert seen(an_item(CAT, FILM, role=Role.MODEL), ONLY_IMAGES) == (
        Item(
            role=Role.USER,
            parts=(CAT_PART, text("[a video v1 is here, which this model cannot see]")),
            tag=Tag.MEDIA_NOTICE,
        ),
        Item(role=Role.MODEL, parts=(HELLO,), tag=Tag.HISTORY),
    )


def test_a_models_own_image_part_goes_before_it_too() -> None:
    item = Item(role=Role.MODEL, parts=(HELLO, CAT_PART), tag=Tag.HISTORY)

    before, after = seen(item, BLIND)

    assert before.parts == (text("[an image is here, which this model cannot see]"),)
    assert after.parts == (HELLO,)


def test_what_goes_before_a_sample_is_a_sample() -> None:
    before, _ = seen(an_item(CAT, role=Role.MODEL, tag=Tag.SAMPLE), SEES)

    assert before.tag is Tag.SAMPLE


def test_parts_of_a_user_stay_in_their_order() -> None:
    item = Item(role=Role.USER, parts=(HELLO, CAT_PART, FILM_PART), tag=Tag.HISTORY)

    assert parts(item, ONLY_IMAGES) == (
        HELLO,
        CAT_PART,
        text("[a video is here, which this model cannot see]"),
    )


def test_a_conversation_without_media_is_the_same_one() -> None:
    conversation = Conversation.of("hello", system="be brief")

    assert as_seen(conversation, BLIND) is conversation


def test_what_it_is_by_its_content_is_what_is_sent() -> None:
    def read(kind: MediaKind, uri: str, mime_type: str | None) -> Reading:
        return Readable(uri="data:image/webp;base64,AA==", mime_type="image/webp")

    (item,) = as_seen(Conversation(items=(an_item(CAT),)), SEES, read).items

    sent = ImagePart(uri="data:image/webp;base64,AA==", mime_type="image/webp")
    assert item.parts == (sent, HELLO)


def test_what_cannot_be_read_becomes_a_notice() -> None:
    def read(kind: MediaKind, uri: str, mime_type: str | None) -> Reading:
        return Unreadable("is really a web page")

    (item,) = as_seen(Conversation(items=(an_item(CAT),)), SEES, read).items

    assert item.parts == (text("[an image m1 is here, which is really a web page]"), HELLO)


def test_where_it_cannot_be_read_its_other_address_is_tried() -> None:
    def read(kind: MediaKind, uri: str, mime_type: str | None) -> Reading:
        return Unreadable("is gone") if uri == CAT.uri else as_claimed(kind, uri, mime_type)

    both = MediaDescriptor(
        kind=MediaKind.IMAGE, uri=CAT.uri, fallback_uri="https://other.example.org/cat.png"
    )
    (item,) = as_seen(Conversation(items=(an_item(both),)), SEES, read).items

    assert item.parts == (ImagePart(uri="https://other.example.org/cat.png"), HELLO)


def test_media_are_found_as_descriptors_and_as_parts() -> None:
    as_part = Item(role=Role.USER, parts=(HELLO, FILM_PART))

    assert has_media(Conversation(items=(an_item(CAT),)))
    assert has_media(Conversation(items=(as_part,)))
    assert not has_media(Conversation(items=(an_item(),)))


def test_without_media_there_are_none() -> None:
    as_part = Item(role=Role.USER, parts=(HELLO, FILM_PART))

    assert not has_media(without_media(Conversation(items=(an_item(CAT, OLD), as_part))))
