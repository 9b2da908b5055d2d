"""A conversation as user and model in turns, as some APIs insist on; for all such adapters."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import (
    ImagePart,
    Item,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VideoPart,
)
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outline import MODEL, ODD, SPEAKER, SYSTEM

_OPENING = TextPart(text="(the conversation begins)")
_GO_ON = TextPart(text="(go on)")
_UNSEEN_VIDEO = "[a video is here, which this model cannot see]"


@frozen
class Turn:
    """What one side says before the other does.

    Attributes:
        is_model: Whether it is the model; else it is the user, or a tool.
        parts: Never empty, and no text among them is blank.
    """

    is_model: bool
    parts: tuple[Part, ...]

    @property
    def only_text(self) -> str | None:
        """What it says where that is one text, as it mostly is; None where it is something else."""
        parts = self.parts
        return part.text if len(parts) == 1 and type(part := parts[0]) is TextPart else None

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """The results of tools, which come first."""
        return tuple(part for part in self.parts if isinstance(part, ToolResultPart))

    @property
    def others(self) -> tuple[Part, ...]:
        """All but the results."""
        return tuple(part for part in self.parts if not isinstance(part, ToolResultPart))


@frozen
class Dialogue:
    """A conversation in turns.

    Attributes:
        system: What stands before all of it; empty for nothing.
        turns: The user's and the model's, one after the other; the user has the first, and the
            last unless the model is to go on with the beginning of its answer.
    """

    system: str
    turns: tuple[Turn, ...]


def dialogue_of(call: ChatCall) -> Dialogue:
    """The turns of a call. A system's word in the middle is said by the user."""
    told = call.conversation
    at_a_glance = [*zip(told.outline, told.items, strict=True)]
    leading = [*takewhile(_is_of_system, at_a_glance)]
    system = "\n\n".join(text for _, item in leading if (text := item.text.strip()))
    said = [
        (kind & SPEAKER == MODEL, parts)
        for kind, item in at_a_glance[len(leading) :]
        if (parts := _plainly(item) if kind < ODD else _said(item, call))
    ]
    if not said or said[0][0]:
        said.insert(0, (False, (_OPENING,)))
    goes_on = bool(call.prefill) and call.model.capabilities.prefix_completion
    if goes_on:
        said.append((True, (TextPart(text=call.prefill),)))
    elif call.prefill:
        said.append((False, (TextPart(text=_asked_to_go_on(call.prefill)),)))
    turns = _in_turns(said)
    if turns[-1].is_model and not goes_on:
        turns.append(Turn(is_model=False, parts=(_GO_ON,)))
    return Dialogue(system=system, turns=tuple(turns))


def inline_of(uri: str) -> tuple[str, str] | None:
    """The MIME type and the base64 of a data URI; None for an address."""
    head, comma, data = uri.partition(",")
    if not head.lower().startswith("data:") or not comma:
        return None
    mime_type, *options = head[len("data:") :].split(";")
    if "base64" not in (option.strip().lower() for option in options):
        data = b64encode(unquote_to_bytes(data)).decode()
    return mime_type or "text/plain", data


def object_of(text: str) -> orjson.Fragment:
    """The JSON object that a text is, as it is written there, or an empty one."""
    return orjson.Fragment(text if isinstance(_json(text), dict) else "{}")


def result_of(part: ToolResultPart) -> Any:
    """What a tool gave, as a JSON object."""
    text = part.result_json
    read = _json(text)
    if isinstance(read, dict):
        return orjson.Fragment(text)
    return {"result": text if read is None else orjson.Fragment(text)}


def entries_of(part: ReasoningPart) -> list[dict[str, Any]]:
    """The provider's own structures for what was thought."""
    read = _json(part.opaque_json or "")
    return [entry for entry in read if isinstance(entry, dict)] if isinstance(read, list) else []


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _asked_to_go_on(beginning: str) -> str:
    return f"[Go on from exactly this beginning of your answer, without repeating it: {beginning}]"


def _is_of_system(at_a_glance: tuple[int, Item]) -> bool:
    return at_a_glance[0] & SPEAKER == SYSTEM


def _plainly(item: Item) -> tuple[Part, ...]:
    return () if item.text.isspace() else item.parts


def _said(item: Item, call: ChatCall) -> tuple[Part, ...]:
    """The parts that count for who says them."""
    match item.role:
        case Role.SYSTEM:
            parts: Iterable[Part] = (TextPart(text=item.text),)
        case Role.USER:
            parts = _seen(item.parts, with_videos=call.model.capabilities.videos)
        case Role.MODEL:
            known = TextPart | ToolCallPart | ReasoningPart
            parts = (part for part in item.parts if isinstance(part, known))
        case Role.TOOL:
            parts = (part for part in item.parts if isinstance(part, ToolResultPart))
    return tuple(_joined(parts, between=""))


def _seen(parts: Iterable[Part], *, with_videos: bool) -> Iterator[Part]:
    for part in parts:
        match part:
            case TextPart() | ImagePart():
                yield part
            case VideoPart() if with_videos:
                yield part
            case VideoPart():
                yield TextPart(text=_UNSEEN_VIDEO)


def _joined(parts: Iterable[Part], *, between: str) -> Iterator[Part]:
    """The parts without blank texts; texts that follow one another are one."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        yield from _text(texts, between)
        texts = []
        yield part
    yield from _text(texts, between)


def _text(texts: list[str], between: str) -> Iterator[Part]:
    text = between.join(texts)
    if text.strip():
        yield TextPart(text=text)


def _in_turns(said: list[tuple[bool, tuple[Part, ...]]]) -> list[Turn]:
    turns: list[Turn] = []
    for is_model, parts in said:
        if turns and turns[-1].is_model == is_model:
            parts = tuple(_joined((*turns.pop().parts, *parts), between="\n\n"))
        turns.append(Turn(is_model=is_model, parts=parts))
    return turns
