"""The calls that a model asks for, what it is told of them, and what they leave in its history."""

import json
from collections.abc import Iterable
from hashlib import sha256

from turnkeeper.domain.conversation import (
    Item,
    ReasoningPart,
    Role,
    Tag,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import ToolRecord, ToolState
from turnkeeper.domain.stream import ReasoningDelta, ToolCallDelta
from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolResult

NO_ARGUMENTS = "{}"
MAY_HAVE_HAPPENED = "nobody knows whether it was done; it may have happened, so do not repeat it"
NOT_WHOLE = "the arguments were cut off, so nothing was run; call it again with whole arguments"


def assembled(deltas: Iterable[ToolCallDelta]) -> tuple[ToolCallPart, ...]:
    """The calls of one answer, put together from their fragments, in order."""
    calls: dict[int, ToolCallPart] = {}
    arguments: dict[int, list[str]] = {}
    for delta in deltas:
        call = calls.get(delta.index) or ToolCallPart(
            call_id=f"call_{delta.index}", name="", arguments_json=""
        )
        calls[delta.index] = replace(
            call,
            call_id=delta.call_id or call.call_id,
            name=delta.name or call.name,
            signature=delta.signature or call.signature,
        )
        arguments.setdefault(delta.index, []).append(delta.arguments)
    return tuple(
        replace(calls[index], arguments_json="".join(arguments[index])) for index in sorted(calls)
    )


def is_whole(arguments_json: str, *, was_cut: bool) -> bool:
    """Whether arguments came to their end.

    Args:
        was_cut: The answer ended for want of output, so that nothing may be missing tacitly.
    """
    if not arguments_json.strip():
        return not was_cut
    try:
        json.loads(arguments_json)
    except (ValueError, RecursionError):
        return False
    return True


def arguments_hash(arguments_json: str) -> str:
    """SHA-256 of arguments, hex; equal however they are spaced and ordered."""
    try:
        value = json.loads(arguments_json) if arguments_json.strip() else {}
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        text = arguments_json
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def told(result: ToolResult, *, max_chars: int) -> str:
    """What the model is told of a result, as JSON; a long one is cut, and says so."""
    match result:
        case ToolDone(result_json=text):
            return _shortened(text, max_chars)
        case ToolFailed(message=message):
            return _dumped({"status": "tool_execution_failed", "reason": message[:max_chars]})


def told_unknown() -> str:
    """What the model is told of a call of which nobody knows how it ended."""
    return _dumped({"status": "unknown", "reason": MAY_HAVE_HAPPENED})


def exchange(
    text: str,
    reasoning: Iterable[ReasoningDelta],
    answered: Iterable[tuple[ToolCallPart, str]],
) -> tuple[Item, ...]:
    """One answer with its calls and their results, as the model's history has it.

    Args:
        text: What was said before the calls, possibly blank.
        reasoning: The thinking before them.
        answered: Each call with what the model is told of it.
    """
    pairs = tuple(answered)
    if not pairs:
        return ()
    said = (TextPart(text=text),) if text.strip() else ()
    calls = tuple(replace(call, arguments_json=_sendable(call.arguments_json)) for call, _ in pairs)
    results = tuple(
        ToolResultPart(call_id=call.call_id, name=call.name, result_json=result)
        for call, result in pairs
    )
    return (
        Item(role=Role.MODEL, parts=(*_thoughts(reasoning), *said, *calls)),
        Item(role=Role.TOOL, parts=results),
    )


def remembered(records: Iterable[ToolRecord], *, with_tools: bool) -> tuple[Item, ...]:
    """What earlier invocations of the turn have done, for the next one's model.

    What failed is left out; it is of use only to whoever asks for the same again.

    Args:
        with_tools: Whether the model calls tools; else it is told in words.
    """
    kept = [record for record in records if record.state is not ToolState.FAILED]
    context = tuple(item for record in kept for item in record.context)
    plain = [record for record in kept if not record.context]
    if not with_tools:
        return (*context, *(_in_words(record) for record in plain))
    pairs = [
        (
            ToolCallPart(
                call_id=f"call_before_{number}",
                name=record.name,
                arguments_json=record.arguments_json,
            ),
            record.result_json,
        )
        for number, record in enumerate(plain)
    ]
    return (*context, *exchange("", (), pairs))


def _in_words(record: ToolRecord) -> Item:
    text = (
        f"[System: the tool {record.name} was already called in this turn with "
        f"{record.arguments_json}; its result: {record.result_json}]"
    )
    return Item.said(Role.USER, text, Tag.NOTE)


def _thoughts(reasoning: Iterable[ReasoningDelta]) -> tuple[ReasoningPart, ...]:
    deltas = tuple(reasoning)
    text = "".join(delta.text for delta in deltas)
    opaque = [delta.opaque_json for delta in deltas if delta.opaque_json is not None]
    if not text and not opaque:
        return ()
    return (ReasoningPart(text=text, opaque_json=opaque[-1] if opaque else None),)


def _sendable(arguments_json: str) -> str:
    """Arguments that every provider takes back: an object, if need be an empty one."""
    try:
        value = json.loads(arguments_json)
    except (ValueError, RecursionError):
        return NO_ARGUMENTS
    return arguments_json if isinstance(value, dict) else NO_ARGUMENTS


def _shortened(result_json: str, max_chars: int) -> str:
    if len(result_json) <= max_chars:
        return result_json
    note = f"the result has {len(result_json)} characters; this is the beginning of it"
    return _dumped({"status": "cut", "note": note, "beginning": result_json[:max_chars]})


def _dumped(value: dict[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False)
