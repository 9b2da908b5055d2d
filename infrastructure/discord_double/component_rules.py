"""What messages and modals may be made of, and how their components are numbered."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from turnkeeper.infrastructure.discord_double.form_rules import at_most, between, entries, one_of
from turnkeeper.infrastructure.discord_double.problem import FormError, Place

ROW, BUTTON, TEXT_INPUT, TEXT_DISPLAY, LABEL = 1, 2, 4, 10, 18
LINK, PREMIUM = 5, 6
STYLES = (1, 2, 3, 4, LINK, PREMIUM)
IN_MODAL = (ROW, TEXT_DISPLAY, LABEL)
INTERACTIVE = frozenset((2, 3, 4, 5, 6, 7, 8))
MOST_ROWS = 5
MOST_IN_ROW = 5
MOST_IN_V2 = 40
MOST_TEXT = 4000
MOST_IN_MODAL = 5


def legacy_errors(components: object) -> Iterator[FormError]:
    """What is wrong with the rows of a message without the V2 flag."""
    yield from at_most(components, MOST_ROWS, ("components",))
    for position, row in enumerate(entries(components)):
        yield from one_of(row.get("type"), (ROW,), ("components", position, "type"))
    yield from _shared_errors(entries(components), ("components",))


def v2_errors(components: object) -> Iterator[FormError]:
    """What is wrong with the components of a message that has the V2 flag."""
    found = tuple(nested(entries(components)))
    if len(found) > MOST_IN_V2:
        yield FormError(
            place=("components",),
            code="COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
            message=f"The total number of components must be {MOST_IN_V2} or fewer",
        )
    yield from _text_errors(entries(components), ("components",))
    yield from _shared_errors(entries(components), ("components",))


def modal_errors(modal: Mapping[str, Any]) -> Iterator[FormError]:
    """What is wrong with a modal."""
    yield from between(modal.get("title"), 1, 45, ("data", "title"))
    yield from between(modal.get("custom_id"), 1, 100, ("data", "custom_id"))
    yield from between(modal.get("components"), 1, MOST_IN_MODAL, ("data", "components"))
    components = entries(modal.get("components"))
    for position, component in enumerate(components):
        place = ("data", "components", position, "type")
        yield from one_of(component.get("type"), IN_MODAL, place)
    yield from _text_errors(components, ("data", "components"))


def numbered(components: object) -> tuple[Mapping[str, Any], ...]:
    """The components, each with an id as Discord gives one."""
    numbers = count(1)
    return tuple(_numbered(one, numbers) for one in entries(components))


def nested(components: tuple[Mapping[str, Any], ...]) -> Iterator[Mapping[str, Any]]:
    """All components, those within others too."""
    for component in components:
        yield component
        yield from nested(entries(component.get("components")))
        inner = [component[name] for name in ("component", "accessory") if name in component]
        yield from nested(entries(inner))


def _shared_errors(rows: tuple[Mapping[str, Any], ...], place: Place) -> Iterator[FormError]:
    known: set[str] = set()
    for position, row in enumerate(rows):
        if row.get("type") != ROW:
            continue
        inside = (*place, position, "components")
        yield from between(row.get("components"), 1, MOST_IN_ROW, inside)
        for number, button in enumerate(entries(row.get("components"))):
            if button.get("type") == BUTTON:
                yield from _button_errors(button, (*inside, number), known)


def _button_errors(button: Mapping[str, Any], place: Place, known: set[str]) -> Iterator[FormError]:
    yield from one_of(button.get("style"), STYLES, (*place, "style"))
    yield from at_most(button.get("label"), 80, (*place, "label"))
    if button.get("style") == LINK:
        yield from between(button.get("url"), 1, 512, (*place, "url"))
        return
    custom_id = button.get("custom_id")
    yield from between(custom_id, 1, 100, (*place, "custom_id"))
    if custom_id in known:
        yield FormError(
            place=(*place, "custom_id"),
            code="COMPONENT_CUSTOM_ID_DUPLICATED",
            message="Component custom id cannot be duplicated",
        )
    known.add(str(custom_id))


def _text_errors(components: tuple[Mapping[str, Any], ...], place: Place) -> Iterator[FormError]:
    for position, component in enumerate(components):
        if component.get("type") == TEXT_DISPLAY:
            here = (*place, position, "content")
            yield from between(component.get("content"), 1, MOST_TEXT, here)
    texts = (one for one in nested(components) if one.get("type") == TEXT_DISPLAY)
    if sum(len(str(one.get("content", ""))) for one in texts) > MOST_TEXT:
        yield FormError(
            place=place,
            code="COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
            message=f"The total displayable text size must be {MOST_TEXT} or fewer characters",
        )


def _numbered(component: Mapping[str, Any], numbers: Iterator[int]) -> Mapping[str, Any]:
    own = {**component, "id": component.get("id") or next(numbers)}
    if "components" in own:
        own["components"] = [_numbered(one, numbers) for one in entries(own["components"])]
    for name in ("component", "accessory"):
        if name in own:
            own[name] = _numbered(own[name], numbers)
    return own
