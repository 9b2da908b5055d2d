"""Conversations of all that an item can be, for Hypothesis."""

from hypothesis import strategies as st

from turnkeeper.domain.conversation import (
    Conversation,
    ImagePart,
    Item,
    MediaDescriptor,
    MediaKind,
    Part,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VideoPart,
)

TEXTS = st.builds(TextPart, text=st.sampled_from(("", " ", "hi", "Привет", "a longer text")))
CALL_IDS = st.sampled_from("ab")
PARTS: st.SearchStrategy[Part] = st.one_of(
    TEXTS,
    st.just(ImagePart(uri="data:image/png;base64,AAAA")),
    st.just(VideoPart(uri="https://v.example/a.mp4")),
    st.just(ReasoningPart(text="hm")),
    st.builds(
        ToolCallPart,
        call_id=st.sampled_from("ab"),
        name=st.just("dice"),
        arguments_json=st.just("{}"),
    ),
    st.builds(
        ToolResultPart,
        call_id=st.sampled_from("ab"),
        name=st.just("dice"),
        result_json=st.just("6"),
    ),
)
MEDIA = MediaDescriptor(kind=MediaKind.IMAGE, uri="data:image/png;base64,AAAA")

PLAIN_ITEMS = st.builds(
    Item.said,
    st.sampled_from((Role.SYSTEM, Role.USER, Role.MODEL)),
    st.sampled_from((" ", "hi", "Привет", "a longer text")),
    st.sampled_from((None, Tag.HISTORY, Tag.SAMPLE, Tag.NOTE, Tag.MEDIA_NOTICE)),
)
ITEMS = PLAIN_ITEMS | st.builds(
    Item,
    role=st.sampled_from(Role),
    parts=st.lists(PARTS, max_size=2).map(tuple),
    tag=st.none() | st.sampled_from(Tag),
    media=st.sampled_from(((), (MEDIA,))),
)


def talks(items: st.SearchStrategy[Item] = ITEMS) -> st.SearchStrategy[Conversation]:
    """Conversations of such items."""
    return st.lists(items, max_size=8).map(lambda some: Conversation(items=tuple(some)))
