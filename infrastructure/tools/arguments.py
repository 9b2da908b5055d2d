"""The arguments of a call, as a model wrote them."""

import json
import math
from typing import Any, Never


class ArgumentsError(ValueError):
    """The arguments are of no use; the message is for the model and holds none of their values."""


def read(arguments_json: str) -> dict[str, Any]:
    """The arguments by their names; none where the text is empty or null.

    An object that was written as JSON twice is read twice.

    Raises:
        ArgumentsError: The text is not JSON, or not an object, or cannot be written as JSON again.
    """
    value = _value(arguments_json)
    if isinstance(value, str):
        value = _value(value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentsError(f"the arguments are {kind_of(value)}, expected an object")
    return value


def unwrapped(arguments: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """The arguments; those named that are a text of an array or an object are read once more."""
    return {
        name: _inner(value) if name in names and isinstance(value, str) else value
        for name, value in arguments.items()
    }


def kind_of(value: object) -> str:
    """What JSON calls such a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def _inner(text: str) -> Any:
    try:
        value = _value(text)
    except ArgumentsError:
        return text
    return value if isinstance(value, list | dict) else text


def _value(text: str) -> Any:
    if not text.strip():
        return None
    try:
        value = json.loads(
            text,
            strict=False,  # models write line ends into texts as they are
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_number,
        )
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except ArgumentsError:
        raise
    except json.JSONDecodeError as error:
        where = f"at character {error.pos} of {len(text)}"
        raise ArgumentsError(f"the arguments are not JSON, {error.msg} {where}") from error
    except UnicodeEncodeError as error:
        raise ArgumentsError("the arguments hold half of a surrogate pair") from error
    except RecursionError as error:
        raise ArgumentsError("the arguments are nested too deeply") from error
    except ValueError as error:  # Python reads no integer of more than some thousand digits
        raise ArgumentsError("the arguments hold a number with too many digits") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, item in pairs:
        if name in value:
            raise ArgumentsError(f"{name!r} is given twice in one object")
        value[name] = item
    return value


def _number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> Never:
    raise ArgumentsError("the arguments hold a number that is not finite, which JSON does not know")
