"""What embeds may hold."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.infrastructure.discord_double.form_rules import at_most, between, entries
from turnkeeper.infrastructure.discord_double.problem import FormError, Place

MOST_EMBEDS = 10
MOST_FIELDS = 25
MOST_CHARACTERS = 6000  # of all embeds together
LIMITS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("title",), 256),
    (("description",), 4096),
    (("footer", "text"), 2048),
    (("author", "name"), 256),
)


def embed_errors(embeds: object) -> Iterator[FormError]:
    """What is wrong with the embeds of a message."""
    yield from at_most(embeds, MOST_EMBEDS, ("embeds",))
    for position, embed in enumerate(entries(embeds)):
        yield from _one(embed, ("embeds", position))
    if sum(_size(embed) for embed in entries(embeds)) > MOST_CHARACTERS:
        yield FormError(
            place=("embeds",),
            code="MAX_EMBED_SIZE_EXCEEDED",
            message=f"Embed size exceeds maximum size of {MOST_CHARACTERS}",
        )


def _one(embed: Mapping[str, Any], place: Place) -> Iterator[FormError]:
    for names, most in LIMITS:
        yield from at_most(_at(embed, names), most, (*place, *names))
    yield from at_most(embed.get("fields"), MOST_FIELDS, (*place, "fields"))
    for position, field in enumerate(entries(embed.get("fields"))):
        yield from between(field.get("name"), 1, 256, (*place, "fields", position, "name"))
        yield from between(field.get("value"), 1, 1024, (*place, "fields", position, "value"))


def _size(embed: Mapping[str, Any]) -> int:
    texts = [_at(embed, names) for names, _ in LIMITS]
    for field in entries(embed.get("fields")):
        texts += [field.get("name"), field.get("value")]
    return sum(len(text) for text in texts if isinstance(text, str))


def _at(embed: Mapping[str, Any], names: tuple[str, ...]) -> object:
    at: object = embed
    for name in names:
        at = at.get(name) if isinstance(at, Mapping) else None
    return at
