"""An owner's settings as a TOML file, and such a file as settings."""

import tomllib
from typing import Any

import tomli_w

from turnkeeper.application.portable import Portable, PortableServer, PortableUser
from turnkeeper.domain.errors import SettingsError
from turnkeeper.infrastructure.checked_values import checked
from turnkeeper.infrastructure.json_values import as_json

FORMAT = 1


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
        SettingsError: It is no TOML, or something in it is unknown, missing or of the wrong kind;
            all of it is named with its place, and no value of it is shown.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"it is no TOML: {_said(error)}") from None
    except ValueError:  # which is what Python says of a number with thousands of digits
        raise SettingsError("it is no TOML that can be read: a number in it is too long") from None
    except RecursionError:
        raise SettingsError(
            "it is no TOML that can be read: lists within lists, too deep"
        ) from None
    if data.pop("format", None) != FORMAT:
        raise SettingsError(f"format: it is {FORMAT}, and this file's is not")
    if ("server" in data) == ("user" in data):
        raise SettingsError("it names either a server or a user, by `server` or `user`")
    return checked(PortableServer, data) if "server" in data else checked(PortableUser, data)


def _set(value: Any) -> Any:
    """The value without what is None, and without empty lists and tables."""
    if isinstance(value, dict):
        inner = {name: _set(one) for name, one in value.items()}
        return {name: one for name, one in inner.items() if one not in (None, [], {})}
    return [_set(one) for one in value] if isinstance(value, list) else value


def _said(error: tomllib.TOMLDecodeError) -> str:
    """Where and what; a message of the parser may quote what it met, which may be a secret."""
    what, at, where = str(error).rpartition(" (at ")
    return f"{what.partition(':')[0]}{at}{where}" if at else "it cannot be parsed"
