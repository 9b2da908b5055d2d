"""A value does what a frozen dataclass does."""

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass
from inspect import signature
from threading import Barrier
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.frozen import frozen, keep, maker, replace


@frozen
class Apple:
    weight_g: int
    sort: str = "Boskop"
    spots: tuple[int, ...] = field(default=(), repr=False)
    notes: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    weight_g: int
    sort: str = "Boskop"
    spots: tuple[int, ...] = field(default=(), repr=False)
    notes: list[str] = field(default_factory=list, compare=False)


@frozen(kw_only=False)
class Pair:
    left: int
    right: int = 2


@frozen
class Nothing:
    pass


@frozen
class Positive:
    number: int
    double: int = 0

    def __post_init__(self) -> None:
        if self.number <= 0:
            raise ValueError(f"number is {self.number}: it must be above 0")
        object.__setattr__(self, "double", 2 * self.number)


class Known:
    __slots__ = ("_area",)
    _area: int | None


@frozen
class Square(Known):
    side: int
    colour: str = "red"

    @property
    def area(self) -> int:
        if self._area is None:
            keep(Square._area, (self,), (self.side**2,))
        assert self._area is not None
        return self._area


some_fields = st.fixed_dictionaries(
    {"weight_g": st.integers(1, 3)},
    optional={
        "sort": st.sampled_from("ab"),
        "spots": st.tuples(st.integers(1, 2)),
        "notes": st.just(["x"]),
    },
)


@given(some_fields, some_fields)
def test_it_equals_and_hashes_as_a_dataclass_does(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    values, models = (Apple(**one), Apple(**other)), (Model(**one), Model(**other))
    assert (values[0] == values[1]) is (models[0] == models[1])
    assert [hash(value) for value in values] == [hash(model) for model in models]
    assert [asdict(value) for value in values] == [asdict(model) for model in models]
    changed, as_expected = replace(values[0], **other), replace(models[0], **other)
    assert repr(changed) == repr(as_expected).replace("Model", "Apple")
    assert changed == dataclasses.replace(values[0], **other)


def test_it_is_a_dataclass_with_slots() -> None:
    kind: Any = Apple
    assert is_dataclass(kind)
    assert [one.name for one in fields(Apple)] == ["weight_g", "sort", "spots", "notes"]
    assert not hasattr(Apple(weight_g=1), "__dict__")
    assert type(Apple(weight_g=1)) is Apple


def test_each_value_gets_a_default_of_its_own() -> None:
    assert Apple(weight_g=1).notes is not Apple(weight_g=1).notes


@pytest.mark.parametrize("name", ["weight_g", "unknown"])
def test_it_does_not_change(name: str) -> None:
    apple = Apple(weight_g=1)
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(apple, name, 2)
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        delattr(apple, name)
    assert apple == Apple(weight_g=1)


def test_a_value_of_another_class_is_another_value() -> None:
    apple, model, nothing = Apple(weight_g=1), Model(weight_g=1), Nothing()
    assert len({apple, Apple(weight_g=1), model, nothing, Nothing()}) == 3


def test_fields_are_given_by_name_unless_the_class_says_otherwise() -> None:
    with pytest.raises(TypeError, match="positional"):
        Apple(1)  # type: ignore[call-arg]
    assert Pair(1) == Pair(left=1, right=2)
    match Pair(1, 3):
        case Pair(left, right):
            assert (left, right) == (1, 3)


def test_what_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(TypeError, match=r"Apple\(\) missing .* 'weight_g'"):
        Apple()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'colour'"):
        Apple(weight_g=1, colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'colour'"):
        replace(Apple(weight_g=1), colour="red")  # type: ignore[call-arg]


def test_a_copy_is_checked_as_a_new_one_is() -> None:
    assert replace(Positive(number=1), number=2).double == 4
    with pytest.raises(ValueError, match="number is -1"):
        replace(Positive(number=1), number=-1)
    with pytest.raises(ValueError, match="number is 0"):
        Positive(number=0)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_it_is_copied_and_pickled(again: Any) -> None:
    apple = Apple(weight_g=1, notes=["sweet"])
    assert again(apple) == apple
    assert again(apple).notes == ["sweet"]


def test_a_maker_makes_what_the_class_makes() -> None:
    apple, pair, nothing = maker(Apple), maker(Pair), maker(Nothing)

    for _ in range(3):  # before its first value, and after
        assert apple(weight_g=3, spots=(1,)) == Apple(weight_g=3, spots=(1,))
        assert apple(weight_g=3).notes is not apple(weight_g=3).notes
        assert pair(1) == Pair(1) == Pair(1, 2)
        assert type(nothing()) is Nothing


def test_a_maker_checks_and_refuses_as_the_class_does() -> None:
    apple, positive = maker(Apple), maker(Positive)

    for _ in range(3):
        with pytest.raises(TypeError, match=r"weight_g"):
            apple()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"colour"):
            apple(weight_g=1, colour="red")  # type: ignore[call-arg]
        with pytest.raises(ValueError, match=r"-1"):
            positive(number=-1)
        assert positive(number=1) == Positive(number=1)
        assert apple(weight_g=1) == Apple(weight_g=1)


def test_once_it_has_made_a_value_a_maker_passes_the_class_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apple = maker(Apple)
    first = apple(weight_g=1)

    def refuse(*_given: object, **_named: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Apple, "__new__", refuse)

    assert apple(weight_g=1) == first


def test_threads_may_share_the_first_value_of_a_maker() -> None:
    def made_by_all(_round: int) -> set[Apple]:
        apple, ready = maker(Apple), Barrier(8)

        def make(weight_g: int) -> Apple:
            ready.wait()
            return apple(weight_g=weight_g)

        return set(threads.map(make, range(8)))

    with ThreadPoolExecutor(8) as threads:
        made = [made_by_all(number) for number in range(50)]

    assert made == [{Apple(weight_g=number) for number in range(8)}] * 50


def test_what_it_is_called_with_is_told_as_by_a_dataclass() -> None:
    def told(kind: type) -> list[tuple[object, ...]]:
        parameters = signature(kind).parameters.values()
        return [
            (one.name, one.kind, one.annotation, one.default is one.empty) for one in parameters
        ]

    @frozen(kw_only=False)
    class Unused:
        left: int
        right: int = 2

    assert told(Apple) == told(Model)
    assert str(signature(Unused)) == "(left: int, right: int = 2) -> None"


def test_what_would_be_passed_over_is_refused_where_the_class_is_declared() -> None:
    class Own:
        weight_g: int

        def __eq__(self, other: object) -> bool:
            return True

    class Made:
        weight_g: int = field(init=False)

    class Hashed:
        weight_g: int = field(hash=False)

    with pytest.raises(TypeError, match="Own has its own __eq__"):
        frozen(Own)
    for odd in (Made, Hashed):
        with pytest.raises(TypeError, match=f"{odd.__name__}.weight_g: all fields are given"):
            frozen(odd)


def test_what_is_no_field_is_refused_where_the_class_is_first_used() -> None:
    @frozen
    class Loose:
        weight_g = field(default=1)

    @frozen
    class Crate:
        apples: int
        largest: ClassVar[int] = 7

    @frozen
    class Named:
        _: KW_ONLY
        apples: int

    @frozen
    class Basket:
        apples: list[int] = []  # noqa: RUF012 - what is to be refused

    with pytest.raises(TypeError, match=r"Loose.weight_g is a field without an annotation"):
        Loose()
    with pytest.raises(TypeError, match=r"Crate.largest is annotated and no field"):
        Crate(apples=1)
    with pytest.raises(TypeError, match=r"Named._ is annotated and no field"):
        Named(apples=1)
    with pytest.raises(TypeError, match=r"Basket.apples has a default that all would share"):
        Basket()


def test_a_parent_is_refused_where_the_class_is_declared() -> None:
    class Plant:
        """It has no slots."""

    class Pippin(Apple):
        """A kind of apple."""

    class Tree(Plant):
        """It would have a dictionary."""

    for child in (Pippin, Tree):
        with pytest.raises(TypeError, match=f"{child.__name__} has a parent"):
            frozen(child)


@pytest.mark.parametrize("again", [replace, copy.copy, lambda v: pickle.loads(pickle.dumps(v))])
def test_what_is_kept_with_it_is_no_field(again: Any) -> None:
    square, fresh = Square(side=2), Square(side=2)
    shown = repr(square)

    assert fresh._area is None
    assert (square.area, square._area) == (4, 4)
    assert (square, hash(square), repr(square)) == (fresh, hash(fresh), shown)
    assert [one.name for one in fields(Square)] == ["side", "colour"]
    assert again(square) == square
    assert again(square)._area is None
    assert not hasattr(square, "__dict__")


def test_a_copy_with_another_field_works_out_its_own() -> None:
    square = Square(side=2)

    assert square.area == 4
    assert replace(square, colour="blue")._area is None
    assert replace(square, side=3).area == 9


def test_threads_that_use_a_class_first_see_the_same() -> None:
    for _ in range(20):

        @frozen
        class Fresh:
            weight_g: int
            notes: list[str] = field(default_factory=list, compare=False)

        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(lambda n, kind=Fresh: kind(weight_g=n), [1] * 4))
        assert [one == made[0] for one in made] == [True] * 4
        assert [one.name for one in fields(Fresh) if one.compare] == ["weight_g"]
