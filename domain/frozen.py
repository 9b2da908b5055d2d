"""`frozen` declares a value: a dataclass with slots whose instances never change.

It makes what ``@dataclass(frozen=True, slots=True)`` makes, and in less time: that one sets each
field by a call, and compiles six functions for every class. Here an instance is filled while it is
of an open twin class with the same slots, and then becomes one of its own; what this takes is
compiled when a class is first used.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """A copy of a value, or of any dataclass, with other fields; checked as a new one is."""
        names = (value.__class__, *changes)
        try:
            copied = _COPIERS[names]
        except KeyError:
            copied = _COPIERS[names] = _copier(*names)
        return copied(value, **changes)


T = TypeVar("T")


@overload
def frozen(kind: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(
    kind: type[T] | None = None, /, *, kw_only: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Declare a class of values, whose fields are given by name unless it says otherwise.

    It has no children, and whoever makes one gives all of its fields. A parent may only have
    slots, for `keep`.
    """
    if kind is None:
        return lambda one: _declared(one, kw_only)
    return _declared(kind, kw_only)


def keep(slot: Any, values: Iterable[object], known: Iterable[object]) -> None:
    """Keep with each value what follows from it, in a slot that its class has from a parent.

    The slot is None before. It is no field: not given, compared, shown, copied or pickled.
    """
    deque(map(slot.__set__, values, known), maxlen=0)


def _declared(kind: type[T], kw_only: bool) -> type[T]:
    if not all(map(_only_has_slots, kind.__bases__)):
        raise TypeError(f"{kind.__qualname__} has a parent: declare it as a frozen dataclass")
    if own := {"__new__", "__init__", "__eq__", "__hash__"} & vars(kind).keys():
        raise TypeError(f"{kind.__qualname__} has its own {min(own)}, which a value does not need")
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
    if odd := [one.name for one in fields(made) if not one.init or one.hash is not None]:
        raise TypeError(
            f"{kind.__qualname__}.{odd[0]}: all fields are given, and hashed as compared"
        )
    made.__dataclass_params__.frozen = True
    made.__new__ = staticmethod(_first)
    made.__setattr__, made.__delattr__ = _refuse, _refuse
    made.__reduce__, made.__replace__ = _reduced, replace
    made.__signature__ = _Called()
    if made.__repr__ is object.__repr__:
        made.__repr__ = _shown
    return made  # type: ignore[no-any-return]


def _only_has_slots(parent: type) -> bool:
    own = vars(parent)
    return parent is object or ("__slots__" in own and "__new__" not in own)


class _Called:
    """What a class of values is called with; made when somebody asks for it."""

    def __get__(self, _value: object, kind: Any) -> Signature:
        known = sorted(fields(kind), key=lambda one: bool(one.kw_only))
        return Signature([_called_with(one) for one in known], return_annotation=None)


def _called_with(one: Field[Any]) -> Parameter:
    way = Parameter.KEYWORD_ONLY if one.kw_only else Parameter.POSITIONAL_OR_KEYWORD
    has_default = (one.default, one.default_factory) != (MISSING, MISSING)
    default = one.default if has_default else Parameter.empty
    return Parameter(one.name, way, default=default, annotation=one.type)


def _refuse(_self: object, name: str, *_value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}: a value does not change")


def _shown(self: Any) -> str:
    given = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({given})"


def _reduced(self: Any) -> tuple[object, ...]:
    """What copying and pickling take."""
    return _again, (type(self), {one.name: getattr(self, one.name) for one in fields(self)})


def _again(kind: type[T], given: dict[str, Any]) -> T:
    return kind(**given)


# ── what is compiled ────────────────────────────────────────────────────────────────────────


_OPEN: dict[type, type] = {}
"""The open twin of each class of values."""
_COPIERS: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""By a class and the fields that change: what makes such a copy."""
_SOURCE = """
def made(_kind, {parameters}):
    _self = _allocated(_open)
    {filled}
    _self.__class__ = _kind
    {checked}
    return _self

def equals(_self, _other):
    if _other.__class__ is not _self.__class__:
        return NotImplemented
    return {own} == {other}

def hashed(_self):
    return hash({own})
"""

_COPIED = """
def copied(_old, *, {changed}):
    _self = _allocated(_open)
    {filled}
    _self.__class__ = _kind
    {checked}
    return _self
"""


def _first(kind: Any, /, *values: Any, **named: Any) -> Any:
    """Make the first instance of a class."""
    _compile(kind)
    return kind.__new__(kind, *values, **named)


def _compile(kind: Any) -> None:
    """Give a class the functions that name its fields."""
    known = fields(kind)
    _OPEN[kind] = type(kind.__name__, kind.__bases__, {"__slots__": kind.__slots__})
    defaults = {f"_default_{one.name}": one.default for one in known}
    factories = {f"_factory_{one.name}": one.default_factory for one in known}
    names = _built(_source(known, kind), kind, {**defaults, **factories})
    kind.__eq__, kind.__hash__ = names["equals"], names["hashed"]
    names["made"].__qualname__ = kind.__qualname__
    kind.__new__ = staticmethod(names["made"])


def _built(source: str, kind: Any, names: dict[str, Any]) -> dict[str, Any]:
    """What the source defines. It is made of the names of fields alone, as with dataclasses."""
    names |= {"_allocated": object.__new__, "_absent": MISSING, "_kind": kind, "_open": _OPEN[kind]}
    exec(source, names)  # noqa: S102  # nosec B102
    return names


def _source(known: tuple[Field[Any], ...], kind: Any) -> str:
    compared = [one.name for one in known if one.compare]
    return _SOURCE.format(
        parameters=_parameters(known),
        filled=_filled(kind, {one.name: _given(one) for one in known}),
        checked=_check_of(kind),
        own=f"({''.join(f'_self.{one}, ' for one in compared)})",
        other=f"({''.join(f'_other.{one}, ' for one in compared)})",
    )


def _parameters(known: tuple[Field[Any], ...]) -> str:
    positional = [_parameter(one) for one in known if not one.kw_only]
    named = [_parameter(one) for one in known if one.kw_only]
    return ", ".join([*positional, *(["*", *named] if named else [])])


def _parameter(one: Field[Any]) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=_absent"
    return one.name if one.default is MISSING else f"{one.name}=_default_{one.name}"


def _given(one: Field[Any]) -> str:
    if one.default_factory is MISSING:
        return one.name
    return f"_factory_{one.name}() if {one.name} is _absent else {one.name}"


def _copier(kind: Any, *changed: str) -> Callable[..., Any]:
    """What copies a value with these fields changed."""
    known = [one.name for one in fields(kind)]
    if kind not in _OPEN or not changed or not set(changed) <= set(known):
        return dataclasses.replace  # of another dataclass, or it refuses what is no field
    filled = _filled(kind, {one: one if one in changed else f"_old.{one}" for one in known})
    source = _COPIED.format(changed=", ".join(changed), filled=filled, checked=_check_of(kind))
    made: Callable[..., Any] = _built(source, kind, {})["copied"]
    return made


def _filled(kind: Any, given: dict[str, str]) -> str:
    kept = [slot for parent in kind.__bases__ for slot in vars(parent).get("__slots__", ())]
    values = given | dict.fromkeys(kept, "None")
    return "; ".join(f"_self.{name} = {value}" for name, value in values.items()) or "pass"


def _check_of(kind: Any) -> str:
    return "_self.__post_init__()" if hasattr(kind, "__post_init__") else "pass"
