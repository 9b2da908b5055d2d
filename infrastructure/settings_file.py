"""An owner's settings as a TOML file, and such a file as settings."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, get_args, get_type_hints

import tomli_w
from pydantic import TypeAdapter, ValidationError

from turnkeeper.application.portable import Portable, PortableServer, PortableUser
from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.json_values import as_json

FORMAT = 1
_SERVER = TypeAdapter(PortableServer)
_USER = TypeAdapter(PortableUser)


def written(portable: Portable) -> str:
    """The file of these settings; what is not set is left out."""
    return tomli_w.dumps({"format": FORMAT, **as_plain(portable)})


def as_plain(portable: Portable) -> dict[str, Any]:
    """The same as plain data; what is not set is left out."""
    plain: dict[str, Any] = _set(as_json(portable))
    return plain


def read(text: str) -> Portable:
    """The settings of a file.

    Raises:
        SettingsError: It is no TOML, or something in it is unknown or of the wrong kind; all of
            it is named with its place, and no value is shown.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"it is no TOML: {_position(error)}") from None
    version = data.pop("format", None)
    if version != FORMAT:
        raise SettingsError(f"format: it is {FORMAT}, and this file's is not")
    if ("server" in data) == ("user" in data):
        raise SettingsError("it names either a server or a user, by `server` or `user`")
    kind = PortableServer if "server" in data else PortableUser
    problems = list(_unknown(kind, data, ""))
    try:
        portable = _read(data)
    except ValidationError as error:
        problems += [_said(dict(one)) for one in error.errors(include_input=False)]
    except (TypeError, ValueError):  # as JSON has neither dates nor endless numbers
        problems.append("there is a date, a time, inf or nan in it, and nothing is set to one")
    if problems:
        raise SettingsError("; ".join(problems))
    return portable


def _read(data: dict[str, Any]) -> Portable:
    # From JSON, so that enums and tuples may be written as text and lists, and nothing else is.
    text = json.dumps(data, allow_nan=False)
    if "server" in data:
        return _SERVER.validate_json(text, strict=True)
    return _USER.validate_json(text, strict=True)


def _set(value: Any) -> Any:
    """The value without what is None, and without empty lists and tables."""
    if isinstance(value, dict):
        inner = {name: _set(one) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one not in (None, [], {})}
    return [_set(one) for one in value] if isinstance(value, list) else value


def _position(error: tomllib.TOMLDecodeError) -> str:
    """Where and what; a message of the parser may quote what it met, which may be a secret."""
    text = str(error)
    what, at, where = text.rpartition(" (at ")
    quoted = what.partition(":")[0]
    return f"{quoted}{at}{where}" if at else "it cannot be parsed"


def _said(problem: dict[str, Any]) -> str:
    place = _place(problem["loc"])
    text = problem["msg"].removeprefix("Value error, ")
    return f"{place}: {text[:1].lower()}{text[1:]}"


def _place(path: tuple[str | int, ...]) -> str:
    named = ""
    for part in path:
        named += f"[{part}]" if isinstance(part, int) else f".{part}" if named else part
    return named or "the file"


def _unknown(kind: Any, data: Any, place: str) -> Iterator[str]:
    """The names in the data that the type does not know."""
    if is_dataclass(kind) and isinstance(data, dict):
        hints = get_type_hints(kind)
        names = {field.name for field in fields(kind)}
        for name, value in data.items():
            inner = f"{place}.{name}" if place else name
            if name in names:
                yield from _unknown(_plain(hints[name]), value, inner)
            else:
                yield f"{inner}: there is no such setting"
    elif isinstance(data, list) and get_args(kind):
        for number, one in enumerate(data):
            yield from _unknown(get_args(kind)[0], one, f"{place}[{number}]")


def _plain(kind: Any) -> Any:
    """The type without its None."""
    members = [one for one in get_args(kind) if one is not NoneType]
    return members[0] if NoneType in get_args(kind) else kind
