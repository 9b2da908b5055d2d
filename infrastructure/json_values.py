"""Frozen values as JSON, by what their fields are declared to be.

A field that the reader does not know is passed over, and one that the writer did not know has its
default, so that two versions read each other's values. A union of classes is told apart by a field
``is`` with the class's name.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

Change = Callable[[Any], Any]

AS_IT_IS = (str, int, float, bool, NoneType)


def as_json(value: object) -> Any:
    """The value in JSON's types."""
    kind: Any = type(value)
    return _changed(to_json(kind), value)


def from_json_as(kind: Any, data: Any) -> Any:
    """The value of this type that `as_json` made the data of.

    Raises:
        KeyError, TypeError, ValueError: The data is not of that form.
    """
    return _changed(from_json(kind), data)


@cache
def to_json(kind: Any) -> Change | None:
    """What turns a value of this type into JSON's types; None for those that are already.

    Raises:
        TypeError: No such type is known here.
    """
    kind = _plain(kind)
    if kind in AS_IT_IS:
        return None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return attrgetter("_value_")
    if kind is datetime:
        return datetime.isoformat
    if is_dataclass(kind):
        return _object_to_json(kind)
    if get_origin(kind) in (tuple, frozenset):
        return _items_to_json(kind)
    if _is_union(kind):
        return _union_to_json(kind)
    raise TypeError(f"{kind!r} is not written as JSON; add it to json_values")


@cache
def from_json(kind: Any) -> Change | None:
    """What turns back what `to_json` made; None where that is not needed.

    Raises:
        TypeError: No such type is known here.
    """
    kind = _plain(kind)
    if kind in AS_IT_IS:
        return None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is datetime:
        return datetime.fromisoformat
    if is_dataclass(kind):
        return _object_from_json(kind)
    if get_origin(kind) in (tuple, frozenset):
        return _items_from_json(kind)
    if _is_union(kind):
        return _union_from_json(kind)
    raise TypeError(f"{kind!r} is not read from JSON; add it to json_values")


def _plain(kind: Any) -> Any:
    return kind.__supertype__ if isinstance(kind, NewType) else kind


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _changed(change: Change | None, value: Any) -> Any:
    return value if change is None else change(value)


# ── objects ─────────────────────────────────────────────────────────────────────────────────


def _changes(kind: Any, change_of: Callable[[Any], Change | None]) -> dict[str, Change | None]:
    hints = get_type_hints(kind)
    return {field.name: change_of(hints[field.name]) for field in fields(kind)}


def _object_to_json(kind: Any) -> Change:
    changes = _changes(kind, to_json)
    names, values_of = tuple(changes), _values_of(tuple(changes))
    changing = tuple((name, one) for name, one in changes.items() if one is not None)

    def change(value: Any) -> dict[str, Any]:
        data = dict(zip(names, values_of(value), strict=True))
        for name, one in changing:
            data[name] = one(data[name])
        return data

    return change


def _values_of(names: tuple[str, ...]) -> Change:
    """What gives the values of these fields, in order."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _object_from_json(kind: Any) -> Change:
    changes = _changes(kind, from_json)

    def change(data: dict[str, Any]) -> Any:
        known = {name: data[name] for name in changes if name in data}
        return kind(**{name: _changed(changes[name], value) for name, value in known.items()})

    return change


# ── items ───────────────────────────────────────────────────────────────────────────────────


def _item_changes(
    kind: Any, change_of: Callable[[Any], Change | None]
) -> tuple[Change | None, ...] | Change | None:
    """One for each place of a tuple of fixed length, else the one for all."""
    kinds = get_args(kind)
    if get_origin(kind) is tuple and kinds[-1] is not Ellipsis:
        return tuple(change_of(one) for one in kinds)
    return change_of(kinds[0])


def _items_to_json(kind: Any) -> Change:
    changes = _item_changes(kind, to_json)
    ordered: Change = sorted if get_origin(kind) is frozenset else list
    if isinstance(changes, tuple):
        return lambda items: [_changed(*pair) for pair in zip(changes, items, strict=True)]
    if changes is None:
        return ordered
    return lambda items: ordered([changes(item) for item in items])


def _items_from_json(kind: Any) -> Change:
    changes = _item_changes(kind, from_json)
    make: Any = get_origin(kind)
    if isinstance(changes, tuple):
        return lambda items: tuple(_changed(*pair) for pair in zip(changes, items, strict=True))
    if changes is None:
        return lambda items: make(items)
    return lambda items: make(changes(item) for item in items)


# ── unions ──────────────────────────────────────────────────────────────────────────────────


def _members(kind: Any) -> tuple[Any, ...]:
    return tuple(one for one in get_args(kind) if one is not NoneType)


def _unless_none(change: Change | None) -> Change | None:
    return None if change is None else lambda value: None if value is None else change(value)


def _union_to_json(kind: Any) -> Change | None:
    members = _members(kind)
    if len(members) == 1:
        return _unless_none(to_json(members[0]))
    changes = {one: _object_to_json(one) for one in members}

    def change(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        return {"is": type(value).__name__, **changes[type(value)](value)}

    return change


def _union_from_json(kind: Any) -> Change | None:
    members = _members(kind)
    if len(members) == 1:
        return _unless_none(from_json(members[0]))
    changes = {one.__name__: _object_from_json(one) for one in members}
    return lambda data: None if data is None else changes[data["is"]](data)
