"""A conversation as contents of the Gemini API.

Source: Google's reference of generateContent, and its guide to thought signatures.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from turnkeeper.domain.conversation import (
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    VideoPart,
)
from turnkeeper.infrastructure.providers.native_turns import (
    Turn,
    entries_of,
    inline_of,
    object_of,
    result_of,
)

Content = dict[str, Any]

SIGNATURE = "thoughtSignature"

_VERSION = re.compile(r"gemini-(\d+)(?:[.-](\d{1,2})(?!\d))?")
_NEWEST = (99, 0)
# What the API takes where a call is not its own, and refuses the request without.
_FOREIGN_SIGNATURE = "skip_thought_signature_validator"


def version_of(model: str) -> tuple[int, int] | None:
    """The version in a model's name; a name such as gemini-flash-latest is the newest.

    None for models of another family, such as Gemma.
    """
    if found := _VERSION.search(model):
        return int(found[1]), int(found[2] or 0)
    return _NEWEST if "gemini" in model else None


def contents_of(turns: Iterable[Turn], model: str) -> list[Content]:
    """The contents of a dialogue. Results of tools stand alone, right behind their calls."""
    wants_signatures = (version_of(model) or (0, 0)) >= (3, 0)
    contents: list[Content] = []
    for turn in turns:
        text = turn.only_text
        if text is not None:
            contents.append(
                {"role": "model" if turn.is_model else "user", "parts": [{"text": text}]}
            )
        elif turn.is_model:
            parts = list(_model_parts(turn.parts, wants_signatures=wants_signatures))
            contents.append({"role": "model", "parts": parts})
        else:
            contents.extend(_of_user(turn))
    return contents


def _of_user(turn: Turn) -> Iterator[Content]:
    if turn.results:
        yield {"role": "user", "parts": [_result(part) for part in turn.results]}
    if turn.others:
        yield {"role": "user", "parts": list(_user_parts(turn.others))}


def _result(part: ToolResultPart) -> Content:
    response = {"id": part.call_id, "name": part.name, "response": result_of(part)}
    return {"functionResponse": response}


def _user_parts(parts: Iterable[Part]) -> Iterator[Content]:
    for part in parts:
        match part:
            case TextPart(text=text):
                yield {"text": text}
            case ImagePart(uri=uri, mime_type=mime_type) | VideoPart(uri=uri, mime_type=mime_type):
                yield _media(uri, mime_type)


def _media(uri: str, mime_type: str | None) -> Content:
    if inline := inline_of(uri):
        return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}
    known = {"mimeType": mime_type} if mime_type else {}
    return {"fileData": {**known, "fileUri": uri}}


def _model_parts(parts: tuple[Part, ...], *, wants_signatures: bool) -> Iterator[Content]:
    """Text, signatures of it, then calls; the first call must have one of its own."""
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    yield from ({"text": part.text} for part in parts if isinstance(part, TextPart))
    for part in parts:
        if isinstance(part, ReasoningPart):
            yield from (
                {"text": entry.get("text") or "", SIGNATURE: entry[SIGNATURE]}
                for entry in entries_of(part)
                if SIGNATURE in entry
            )
    for number, call in enumerate(calls):
        needed = _FOREIGN_SIGNATURE if wants_signatures and number == 0 else None
        yield _call(call, call.signature or needed)


def _call(part: ToolCallPart, signature: str | None) -> Content:
    call = {"id": part.call_id, "name": part.name, "args": object_of(part.arguments_json)}
    return {"functionCall": call, **({SIGNATURE: signature} if signature else {})}
