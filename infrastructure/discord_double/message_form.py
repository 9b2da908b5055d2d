"""The form of a message: what may be sent, and what a send or an edit makes of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from turnkeeper.domain.frozen import frozen
from turnkeeper.infrastructure.discord_double.component_rules import (
    INTERACTIVE,
    legacy_errors,
    nested,
    numbered,
    v2_errors,
)
from turnkeeper.infrastructure.discord_double.embed_rules import embed_errors
from turnkeeper.infrastructure.discord_double.form_rules import at_most, entries
from turnkeeper.infrastructure.discord_double.mentions import mention_errors
from turnkeeper.infrastructure.discord_double.message import (
    COMPONENTS_V2,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    Json,
    Message,
)
from turnkeeper.infrastructure.discord_double.problem import (
    EMPTY_MESSAGE,
    FormError,
    Refused,
    refuse_form,
)

MOST_CHARACTERS = 2000
MOST_NONCE = 25
SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2


@frozen
class Draft:
    """What a form says, checked."""

    content: str
    embeds: tuple[Json, ...]
    components: tuple[Json, ...]
    flags: int


def draft_of(form: Mapping[str, Any], old: Message | None = None) -> Draft:
    """Return what is to stand there.

    Args:
        form: For an edit, what it leaves out stays as it is.
        old: The message that is edited; None for a new one, which must not be empty.

    Raises:
        Refused: 50035 or 50006.
    """
    flags = int(form.get("flags") or 0) & SETTABLE | (old.flags & COMPONENTS_V2 if old else 0)
    refuse_form(_errors(form, is_v2=bool(flags & COMPONENTS_V2)))
    draft = Draft(
        content=_content(form, old),
        embeds=entries(form["embeds"]) if "embeds" in form else old.embeds if old else (),
        components=_components(form, old),
        flags=flags,
    )
    if old is None and not (draft.content or draft.embeds or draft.components):
        raise Refused(EMPTY_MESSAGE)
    return draft


def without_buttons(components: tuple[Json, ...]) -> tuple[Json, ...]:
    """The components whose parts nobody can use."""
    return tuple(
        one for one in components if not any(n.get("type") in INTERACTIVE for n in nested((one,)))
    )


def _content(form: Mapping[str, Any], old: Message | None) -> str:
    if "content" not in form and old is not None:
        return old.content
    return (form.get("content") or "").strip()


def _components(form: Mapping[str, Any], old: Message | None) -> tuple[Json, ...]:
    if "components" not in form and old is not None:
        return old.components
    return numbered(form.get("components"))


def _errors(form: Mapping[str, Any], *, is_v2: bool) -> Iterator[FormError]:
    content, nonce = form.get("content"), form.get("nonce")
    if content is not None and not isinstance(content, str):
        yield FormError(
            place=("content",),
            code="STRING_TYPE_CONVERT",
            message=f'Could not interpret "{content}" as string.',
        )
    yield from at_most(content, MOST_CHARACTERS, ("content",))
    yield from at_most(nonce, MOST_NONCE, ("nonce",))
    yield from embed_errors(form.get("embeds"))
    yield from mention_errors(form.get("allowed_mentions") or {})
    if not is_v2:
        yield from legacy_errors(form.get("components"))
        return
    yield from v2_errors(form.get("components"))
    for field in ("content", "embeds"):
        if form.get(field):
            yield FormError(
                place=(field,),
                code="MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                message=f"The '{field}' field cannot be used with MessageFlags.IS_COMPONENTS_V2",
            )
