"""`frozen` declares a value: a dataclass with slots whose instances never change.

It makes what ``@dataclass(frozen=True, slots=True)`` makes, and in less time: that one sets each
field by a call, and compiles six functions for every class. Here an instance is filled while it is
of an open twin class with the same slots, and then becomes one of its own. What this takes is
compiled, and the class is looked at as a dataclass, when it is first used: a process uses few of
the classes that it imports.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import partial
from inspect import Parameter, Signature
from types import FunctionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NoReturn,
    ParamSpec,
    TypeVar,
    dataclass_transform,
    overload,
)

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
        return copied(value, changes)


T = TypeVar("T")
P = ParamSpec("P")


def maker(kind: Callable[P, T]) -> Callable[P, T]:
    """What makes a class's values in a third of the time, for those that every turn makes.

    Python gathers the arguments of a class in a dict and takes them out again; a function takes
    them as they are. This one asks the class for its first value, and gets its code by it.
    """
    made: Any = FunctionType(_before_the_first.__code__, {}, kind.__name__)
    made.__kwdefaults__ = {"_make": partial(_first_of_maker, made, kind)}
    return made  # type: ignore[no-any-return]


def _before_the_first(*values: Any, _make: Callable[..., Any], **named: Any) -> Any:
    return _make(*values, **named)


def _first_of_maker(made: Any, kind: Any, /, *values: Any, **named: Any) -> Any:
    """Make a value by its class, and let the maker make the others."""
    value = kind(*values, **named)
    compiled = _made(kind, "", made.__globals__)
    # Other threads may call it meanwhile, and find either code with what it needs.
    made.__defaults__ = compiled.__defaults__
    made.__kwdefaults__ = made.__kwdefaults__ | (compiled.__kwdefaults__ or {})
    made.__code__ = compiled.__code__
    return value


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
    body: dict[str, Any] = dict(vars(kind))
    if own := {"__new__", "__init__", "__eq__", "__hash__"} & body.keys():
        raise TypeError(f"{kind.__qualname__} has its own {min(own)}, which a value does not need")
    names = tuple(body.get("__annotations__", ()))
    given = {name: body.pop(name) for name in names if name in body}
    if odd := [name for name, one in given.items() if _is_odd(one)]:
        raise TypeError(
            f"{kind.__qualname__}.{odd[0]}: all fields are given, and hashed as compared"
        )
    del body["__dict__"], body["__weakref__"]
    body = {"__repr__": _shown, **body, **_OF_ALL, "__slots__": names}
    body |= {"__given__": given, "__kw_only__": kw_only}
    made: Any = type(kind.__name__, kind.__bases__, body)
    made.__qualname__ = kind.__qualname__
    return made  # type: ignore[no-any-return]


def _only_has_slots(parent: type) -> bool:
    own = vars(parent)
    return parent is object or ("__slots__" in own and "__new__" not in own)


def _is_odd(given: object) -> bool:
    return isinstance(given, Field) and (not given.init or given.hash is not None)


class _Told:
    """What a class of values says of itself as a dataclass; made when somebody asks for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _value: object, kind: Any) -> Any:
        body = {"__annotations__": kind.__annotations__, "__module__": kind.__module__}
        plain: Any = type(kind.__name__, (), {"__doc__": kind.__name__, **body, **kind.__given__})
        dataclass(init=False, repr=False, eq=False, kw_only=kind.__kw_only__)(plain)
        plain.__dataclass_params__.frozen = True
        for name in _TOLD:
            setattr(kind, name, getattr(plain, name))
        return getattr(plain, self._name)


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
_MADE = """
def made({parameters}):
    _self = _open()
    {filled}_self.__class__ = _kind
    return {checked}_self
"""
_COMPARED = """
def equals(_self, _other):
    if _other.__class__ is not _self.__class__:
        return NotImplemented
    return {own} == {other}

def hashed(_self):
    return hash({own})
"""

_COPIED = """
def copied(_old, _changes):
    _self = _open()
    {filled}_self.__class__ = _kind
    return {checked}_self
"""


def _first_of_class(kind: Any, /, *values: Any, **named: Any) -> Any:
    """Make the first instance of a class."""
    _check(kind)
    _OPEN[kind] = type(kind.__name__, kind.__bases__, {"__slots__": kind.__slots__})
    made = _made(kind, "_kind, ", {})
    made.__qualname__ = kind.__qualname__
    kind.__new__ = staticmethod(made)
    return made(kind, *values, **named)


def _made(kind: Any, before: str, names: dict[str, Any]) -> Any:
    """What makes a class's values of what is before their fields and of these."""
    known = _known(kind)
    defaults = {f"_default_{name}": one.default for name, one in known.items()}
    factories = {f"_factory_{name}": one.default_factory for name, one in known.items()}
    names |= {**defaults, **factories}
    source = _MADE.format(
        parameters=before + _parameters(known, kind.__kw_only__),
        filled=_filled(kind, {name: _given(name, one) for name, one in known.items()}),
        checked=_check_of(kind),
    )
    return _built(source, kind, names)["made"]


def _check(kind: Any) -> None:
    """Refuse what a dataclass would refuse, or would not take for a field."""
    for name, annotation in kind.__annotations__.items():
        if annotation is KW_ONLY or getattr(annotation, "__origin__", None) is ClassVar:
            raise TypeError(f"{kind.__qualname__}.{name} is annotated and no field")
        if type(kind.__given__.get(name)).__hash__ is None:
            raise TypeError(f"{kind.__qualname__}.{name} has a default that all would share")
    for name, one in vars(kind).items():
        if isinstance(one, Field):
            raise TypeError(f"{kind.__qualname__}.{name} is a field without an annotation")


def _known(kind: Any) -> dict[str, Field[Any]]:
    """The fields of a class of values, by name."""
    given = ((name, kind.__given__.get(name, MISSING)) for name in kind.__slots__)
    return {name: one if isinstance(one, Field) else field(default=one) for name, one in given}


def _first_equals(self: Any, other: object) -> Any:
    """Compare an instance of a class for the first time."""
    _compare(type(self))
    return self.__eq__(other)


def _first_hash(self: Any) -> int:
    """Hash an instance of a class for the first time."""
    _compare(type(self))
    return hash(self)


def _compare(kind: Any) -> None:
    """Give a class what compares by its fields."""
    compared = [name for name, one in _known(kind).items() if one.compare]
    own, other = (f"({''.join(f'{of}.{one}, ' for one in compared)})" for of in ("_self", "_other"))
    names = _built(_COMPARED.format(own=own, other=other), kind, {})
    kind.__eq__, kind.__hash__ = names["equals"], names["hashed"]


def _built(source: str, kind: Any, names: dict[str, Any]) -> dict[str, Any]:
    """What the source defines. It is made of the names of fields alone, as with dataclasses."""
    names |= {"_absent": MISSING, "_kind": kind, "_open": _OPEN[kind]}
    exec(source, names)  # noqa: S102  # nosec B102
    return names


def _parameters(known: dict[str, Field[Any]], kw_only: bool) -> str:
    places: list[str] = []
    names: list[str] = []
    for name, one in known.items():
        is_named = kw_only if one.kw_only is MISSING else one.kw_only
        (names if is_named else places).append(_parameter(name, one))
    return ", ".join([*places, *(["*", *names] if names else [])])


def _parameter(name: str, one: Field[Any]) -> str:
    if one.default_factory is not MISSING:
        return f"{name}=_absent"
    return name if one.default is MISSING else f"{name}=_default_{name}"


def _given(name: str, one: Field[Any]) -> str:
    if one.default_factory is MISSING:
        return name
    return f"_factory_{name}() if {name} is _absent else {name}"


def _copier(kind: Any, *changed: str) -> Callable[..., Any]:
    """What copies a value with these fields changed."""
    known = kind.__slots__ if kind in _OPEN else ()
    if not changed or not set(changed) <= set(known):
        return _replaced  # of another dataclass, or it refuses what is no field
    given = {one: f"_changes[{one!r}]" if one in changed else f"_old.{one}" for one in known}
    source = _COPIED.format(filled=_filled(kind, given), checked=_check_of(kind))
    made: Callable[..., Any] = _built(source, kind, {})["copied"]
    return made


def _replaced(value: Any, changes: dict[str, Any]) -> Any:
    return dataclasses.replace(value, **changes)


def _filled(kind: Any, given: dict[str, str]) -> str:
    kept = [slot for parent in kind.__bases__ for slot in vars(parent).get("__slots__", ())]
    values = given | dict.fromkeys(kept, "None")
    return "".join(f"_self.{name} = {value}; " for name, value in values.items())


def _check_of(kind: Any) -> str:
    return "_self.__post_init__() or " if hasattr(kind, "__post_init__") else ""


_TOLD = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
_OF_ALL: dict[str, Any] = {
    **{name: _Told(name) for name in _TOLD},
    "__new__": staticmethod(_first_of_class),
    "__eq__": _first_equals,
    "__hash__": _first_hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduced,
    "__replace__": replace,
    "__signature__": _Called(),
}
"""What every class of values begins with."""
