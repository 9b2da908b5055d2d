"""A conversation as the text that NovelAI's story models go on with.

Source: NovelAI's documentation of its models; what clients of its API send.
"""

from collections.abc import Iterable

from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.domain.conversation import ImagePart, Part, TextPart, ToolResultPart
from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.providers.native_turns import Turn, dialogue_of

USER = "User:"
MODEL = "Assistant:"

_BREAK = "***"  # what such a model knows as the start of a scene
_UNSEEN_IMAGE = "[an image is here, which this model cannot see]"
_BEGINNINGS = {"llama-3-erato-v1": "<|startoftext|><|reserved_special_token81|>"}


def prompt_of(call: ChatCall) -> str:
    """The text up to where the answer begins, or goes on with its given beginning."""
    dialogue = dialogue_of(replace(call, prefill=""))
    before = [dialogue.system, _BREAK] if dialogue.system else []
    lines = [*before, *map(_line, dialogue.turns), f"{MODEL} {call.prefill}".rstrip()]
    return _BEGINNINGS.get(call.model.name, "") + "\n".join(lines)


def _line(turn: Turn) -> str:
    return f"{MODEL if turn.is_model else USER} {_text(turn.parts)}"


def _text(parts: Iterable[Part]) -> str:
    texts = []
    for part in parts:
        match part:
            case TextPart(text=text):
                texts.append(text.strip())
            case ImagePart():
                texts.append(_UNSEEN_IMAGE)
            case ToolResultPart(name=name, result_json=result):
                texts.append(f"[{name}: {result}]")
    return " ".join(texts)
