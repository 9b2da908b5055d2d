"""What a tool returned or raised, as the model is told it."""

import json

import orjson
from pydantic_core import to_json

from turnkeeper.domain.frozen import replace
from turnkeeper.domain.redact import redact
from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolResult

MOST_MESSAGE_CHARACTERS = 1000


def returned(value: object) -> ToolResult:
    """The result that a tool's return value stands for; its data as JSON."""
    match value:
        case ToolDone():
            return value if _is_json(value.result_json) else _as_text(value)
        case ToolFailed(message=message, ran=ran):
            return failed(message, ran=ran)
        case None:
            return ToolDone()
        case _:
            return _shown(value)


def raised(error: BaseException) -> ToolFailed:
    """The failure of a tool that raised."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an error that cannot say what it is still has a name
        message = ""
    return failed(f"{name}: {message}" if message else name)


def failed(message: str, *, ran: bool = True) -> ToolFailed:
    """A failure whose message is redacted and of a bounded length.

    Args:
        ran: Whether the tool itself was run.
    """
    return ToolFailed(message=redact(_whole(message), limit=MOST_MESSAGE_CHARACTERS), ran=ran)


def _shown(value: object) -> ToolDone:
    try:
        return ToolDone(result_json=to_json(value, inf_nan_mode="strings").decode())
    except Exception:  # noqa: BLE001 - a value's own code may raise anything
        note = f"it is done; its result, a {type(value).__name__}, cannot be shown as JSON"
        return ToolDone(result_json=json.dumps({"status": "done", "note": note}))


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _as_text(done: ToolDone) -> ToolDone:
    return replace(done, result_json=json.dumps(_whole(done.result_json), ensure_ascii=False))


def _whole(text: str) -> str:
    """With a mark for each half of a surrogate pair, which nobody could encode."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
