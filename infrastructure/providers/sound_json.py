"""JSON in UTF-8 of texts that may hold half a character."""

from typing import Any

import orjson


def sound_json(value: Any) -> bytes:
    """The value as JSON; half a character, which JSON in UTF-8 cannot hold, is replaced."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_sound(value))


def _sound(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_sound(entry) for entry in value]
        case dict():
            return {_sound(name): _sound(entry) for name, entry in value.items()}
    return value
