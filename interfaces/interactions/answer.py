"""Interactions and their answers, in Discord's own form."""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from turnkeeper.domain.press import DETAILS_BUTTON, OpenModal, Press, Reply, Whisper
from turnkeeper.interfaces.interactions.payload import Ping, read_interaction

PONG = 1
MESSAGE = 4
MODAL = 9
TEXT_DISPLAY = 10
EPHEMERAL = 1 << 6
NO_WORDS = "…"

AnswerPress = Callable[[Press], Reply]


def answer_interaction(
    payload: Mapping[str, Any], answer: AnswerPress, *, with_modal: bool = True
) -> dict[str, Any]:
    """The answer to an interaction, to be sent to its callback within three seconds.

    Args:
        payload: As Discord sent it, over HTTP or over a gateway.
        answer: Most likely an `application.answer_press.AnswerPress`.
        with_modal: Whether long texts open a window. Where Discord refused one, ask again
            without: the same texts come as a message that only that user sees.

    Raises:
        NotAnswered: It is no press, and no ping.
    """
    read = read_interaction(payload)
    if isinstance(read, Ping):
        return {"type": PONG}
    return callback_of(answer(read), with_modal=with_modal)


def callback_of(reply: Reply, *, with_modal: bool = True) -> dict[str, Any]:
    """A reply as Discord takes it."""
    match reply:
        case Whisper():
            return _whispered(reply)
        case OpenModal():
            return _modal(reply) if with_modal else _whispered(reply.otherwise)
        case unknown:
            assert_never(unknown)


def _whispered(whisper: Whisper) -> dict[str, Any]:
    data = {
        "content": whisper.text if whisper.text.strip() else NO_WORDS,
        "flags": EPHEMERAL,
        "allowed_mentions": {"parse": []},
    }
    return {"type": MESSAGE, "data": data}


def _modal(modal: OpenModal) -> dict[str, Any]:
    # No input that is read-only exists, so the texts are shown and nothing is asked.
    data = {
        "custom_id": DETAILS_BUTTON,
        "title": modal.title,
        "components": [{"type": TEXT_DISPLAY, "content": text} for text in modal.texts],
    }
    return {"type": MODAL, "data": data}
