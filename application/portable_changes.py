"""What is different between two owners' settings, place by place."""

from collections.abc import Iterator
from dataclasses import asdict
from enum import Enum
from typing import Any

from turnkeeper.application.configure_models import ENDPOINT
from turnkeeper.application.portable import Portable
from turnkeeper.domain.frozen import frozen

NAMED_BY = ("id", "provider", "label")
"""What tells the entries of a list apart, in the order in which it is asked for."""
NOT_SET = "not set"


@frozen
class Change:
    """One value that is different.

    Attributes:
        place: Such as ``cooldown.length_s`` or ``endpoints.den.base_url``.
        before: What it was, as text.
        after: What it is.
    """

    place: str
    before: str
    after: str


def changes(before: Portable, after: Portable) -> tuple[Change, ...]:
    """What `after` sets otherwise; endpoints go by their labels, models are not compared."""
    was, now = dict(values(before)), dict(values(after))
    return tuple(
        Change(place=place, before=was.get(place, NOT_SET), after=now.get(place, NOT_SET))
        for place in dict.fromkeys((*now, *was))
        if was.get(place, NOT_SET) != now.get(place, NOT_SET)
    )


def values(portable: Portable) -> Iterator[tuple[str, str]]:
    """All that is set, as pairs of place and text."""
    named = _named(portable)
    labels = {f"{ENDPOINT}{number}": f"{ENDPOINT}{label}" for number, label in named.items()}
    whole = {name: value for name, value in asdict(portable).items() if name not in _APART}
    endpoints = [{**one, "id": None, "label": named[one["id"]]} for one in whole.pop("endpoints")]
    for place, value in _flat("", {**whole, "endpoints": endpoints}):
        yield place, ", ".join(labels.get(one, one) for one in value)


_APART = ("server", "user", "models")


def _named(portable: Portable) -> dict[int, str]:
    """What each endpoint goes by, by its number: its label, and which one of that label."""
    named: dict[int, str] = {}
    for one in portable.endpoints:
        again = sum(other.label == one.label for other in portable.endpoints if other.id in named)
        named[one.id] = f"{one.label}#{again + 1}" if again else one.label
    return named


def _flat(place: str, value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each value under its place; what is not set is left out."""
    match value:
        case None | () | [] | frozenset() if not value:
            return
        case dict() if value and all(isinstance(one, bool) for one in value.values()):
            yield place, tuple(name for name, has in value.items() if has) or ("none",)
        case dict():
            for name, inner in value.items():
                yield from _flat(f"{place}.{name}" if place else name, inner)
        case [dict(), *_] | (dict(), *_):
            for inner in value:
                key = next(name for name in NAMED_BY if inner.get(name) is not None)
                rest = {name: one for name, one in inner.items() if name != key}
                yield from _flat(f"{place}.{inner[key]}", rest)
        case frozenset():
            yield place, tuple(sorted(value))
        case tuple() | list():
            yield place, tuple(map(_text, value))
        case _:
            yield place, (_text(value),)


def _text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case Enum():
            return str(value.value)
        case (token, bias):
            return f"{token}={bias:g}"
        case _:
            return str(value)
