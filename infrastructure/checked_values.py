"""Plain data that people wrote, as frozen values; all that is wrong in it is named by its place."""

import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from turnkeeper.domain.errors import SettingsError

T = TypeVar("T")
LARGEST = 2**63 - 1
"""What a store can hold."""


def checked(kind: type[T], data: object) -> T:
    """The value of this type that the data describes.

    Raises:
        SettingsError: All that is unknown, missing or of the wrong kind, and no value of it.
    """
    problems: list[str] = []
    value = _value(kind, data, "", lambda place, what: problems.append(f"{place}: {what}"))
    if problems:
        raise SettingsError("; ".join(problems))
    made: T = value
    return made


Wrong = Callable[[str, str], None]
"""Takes a place and what is wrong there."""


class _Broken(Exception):
    """What was read cannot be used; it has been said why."""


def _value(kind: Any, data: Any, place: str, wrong: Wrong) -> Any:
    """The value, or None where something is wrong."""
    try:
        return _read(kind, data, place, wrong)
    except _Broken:
        return None


def _read(kind: Any, data: Any, place: str, wrong: Wrong) -> Any:
    if get_origin(kind) in (Union, UnionType):
        (member,) = (one for one in get_args(kind) if one is not NoneType)
        return _read(member, data, place, wrong)
    if is_dataclass(kind):
        return _object(kind, data, place, wrong)
    if get_origin(kind) in (tuple, frozenset):
        return _items(kind, data, place, wrong)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind, data, place, wrong)
    return _plain(kind, data, place, wrong)


def _object(kind: Any, data: Any, place: str, wrong: Wrong) -> Any:
    _expect(isinstance(data, dict), "a table", place, wrong)
    hints, known = get_type_hints(kind), {one.name: one for one in fields(kind)}
    said: list[str] = []

    def wrong_here(where: str, what: str) -> None:
        said.append(what)
        wrong(where, what)

    def at(name: str) -> str:
        return f"{place}.{name}" if place else name

    for name in (name for name in data if name not in known):
        wrong_here(at(name), "there is no such setting")
    for name in (name for name, one in known.items() if _is_required(one) and name not in data):
        wrong_here(at(name), "it is missing")
    values = {
        name: _value(hints[name], data[name], at(name), wrong_here)
        for name in known
        if name in data
    }
    if said:
        raise _Broken
    try:
        return kind(**values)
    except ValueError as error:
        wrong(place or "the file", str(error))
        raise _Broken from None


def _items(kind: Any, data: Any, place: str, wrong: Wrong) -> Any:
    _expect(isinstance(data, list), "a list", place, wrong)
    kinds = get_args(kind)
    if get_origin(kind) is tuple and kinds[-1] is not Ellipsis:
        _expect(len(data) == len(kinds), f"a list of {len(kinds)}", place, wrong)
    else:
        kinds = (kinds[0],) * len(data)
    pairs = zip(kinds, data, strict=True)
    read = [_value(one, item, f"{place}[{n}]", wrong) for n, (one, item) in enumerate(pairs)]
    return get_origin(kind)(read)


def _member(kind: type[Enum], data: Any, place: str, wrong: Wrong) -> Enum:
    known = {one.value: one for one in kind}
    _expect(isinstance(data, str) and data in known, " or ".join(map(repr, known)), place, wrong)
    return known[data]


def _plain(kind: type, data: Any, place: str, wrong: Wrong) -> Any:
    is_number = isinstance(data, int) and not isinstance(data, bool) and abs(data) <= LARGEST
    if kind is bool:
        _expect(isinstance(data, bool), "true or false", place, wrong)
    elif kind is int:
        _expect(is_number, "a whole number", place, wrong)
    elif kind is float:
        finite = isinstance(data, float) and math.isfinite(data)
        _expect(finite or is_number, "a number", place, wrong)
        return float(data)
    else:
        assert kind is str, f"{kind} is not read; add it here"
        _expect(isinstance(data, str) and "\0" not in data, "a text without NUL", place, wrong)
    return data


def _expect(is_so: bool, what: str, place: str, wrong: Wrong) -> None:
    if not is_so:
        wrong(place or "the file", f"it is to be {what}")
        raise _Broken


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING
