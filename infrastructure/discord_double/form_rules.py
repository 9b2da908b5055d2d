"""The rules that many fields of forms share."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.infrastructure.discord_double.problem import FormError, Place


def at_most(value: object, most: int, place: Place) -> Iterator[FormError]:
    """A text or a list may have so many characters or entries."""
    if isinstance(value, str | list) and len(value) > most:
        yield FormError(
            place=place,
            code="BASE_TYPE_MAX_LENGTH",
            message=f"Must be {most} or fewer in length.",
        )


def between(value: object, least: int, most: int, place: Place) -> Iterator[FormError]:
    """A text or a list must be there and have so many characters or entries."""
    if not isinstance(value, str | list):
        yield required(place)
    elif not least <= len(value) <= most:
        yield FormError(
            place=place,
            code="BASE_TYPE_BAD_LENGTH",
            message=f"Must be between {least} and {most} in length.",
        )


def required(place: Place) -> FormError:
    """A field is missing."""
    return FormError(place=place, code="BASE_TYPE_REQUIRED", message="This field is required")


def one_of(value: object, choices: tuple[int, ...], place: Place) -> Iterator[FormError]:
    """A number must be one of these."""
    if value not in choices:
        yield FormError(
            place=place,
            code="BASE_TYPE_CHOICES",
            message=f"Value must be one of {choices}.",
        )


def entries(value: object) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list; anything else is left out."""
    listed = value if isinstance(value, list | tuple) else ()
    return tuple(one for one in listed if isinstance(one, Mapping))
