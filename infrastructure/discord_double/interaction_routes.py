"""Interactions: the first answer, and what may follow it."""

import secrets
from collections.abc import Mapping
from typing import Any

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.call import NO_CONTENT, Call, Reply
from turnkeeper.infrastructure.discord_double.component_rules import modal_errors
from turnkeeper.infrastructure.discord_double.form_rules import one_of
from turnkeeper.infrastructure.discord_double.interaction import (
    ANSWER_WITHIN_S,
    DEFER,
    DEFER_UPDATE,
    MODAL_SUBMIT,
    SAY,
    SHOW_MODAL,
    TOKEN_LIVES_S,
    UPDATE,
    Interaction,
)
from turnkeeper.infrastructure.discord_double.mentions import BY_BOT
from turnkeeper.infrastructure.discord_double.message import EPHEMERAL, LOADING, Message
from turnkeeper.infrastructure.discord_double.message_form import Draft, draft_of
from turnkeeper.infrastructure.discord_double.message_routes import edited, pings
from turnkeeper.infrastructure.discord_double.problem import (
    ACKNOWLEDGED,
    INVALID_WEBHOOK_TOKEN,
    THREAD_ARCHIVED,
    UNKNOWN_INTERACTION,
    UNKNOWN_MESSAGE,
    UNKNOWN_WEBHOOK,
    Refused,
    refuse_form,
)
from turnkeeper.infrastructure.discord_double.rendered import message_json
from turnkeeper.infrastructure.discord_double.state import State

TO_PRESS = (SAY, DEFER, DEFER_UPDATE, UPDATE, SHOW_MODAL)
TO_MODAL = (SAY, DEFER, DEFER_UPDATE, UPDATE)
ORIGINAL = "@original"
DEFERRAL = Draft(content="", embeds=(), components=(), flags=LOADING)


def answer_interaction(state: State, call: Call) -> Reply:
    """The first answer, by the callback route."""
    interaction = state.interactions.get(call.params["interaction_id"])
    token = call.params["token"]
    if interaction is None or not secrets.compare_digest(interaction.token, token):
        raise Refused(UNKNOWN_INTERACTION)
    answered = take_answer(state, interaction, call.body)
    if not call.says("with_response"):
        return NO_CONTENT
    return Reply(body=_callback_json(state, answered))


def take_answer(state: State, interaction: Interaction, answer: Mapping[str, Any]) -> Interaction:
    """Let the first answer to an interaction count, whichever way it came.

    Raises:
        Refused: It is late, not the first, or no answer to this.
    """
    if interaction.answer is not None:
        raise Refused(ACKNOWLEDGED)
    if state.clock.monotonic() - interaction.asked_at_s > ANSWER_WITHIN_S:
        raise Refused(UNKNOWN_INTERACTION)
    choices = TO_MODAL if interaction.kind == MODAL_SUBMIT else TO_PRESS
    refuse_form(one_of(answer.get("type"), choices, ("type",)))
    answered = _taken(state, interaction, int(answer["type"]), answer.get("data") or {})
    state.interactions[answered.id] = answered
    return answered


def follow_up(state: State, call: Call) -> Reply:
    """Say more; after a deferral the first time says what was deferred."""
    interaction = _opened(state, call)
    original = state.messages.get(interaction.original_id or "")
    if original is not None and original.flags & LOADING:
        return Reply(body=message_json(state, _loaded(state, original, call.body)))
    message = _say(state, interaction, draft_of(call.body), call.body)
    said = (*interaction.said, message.id)
    state.interactions[interaction.id] = replace(interaction, said=said)
    return Reply(body=message_json(state, message))


def get_follow_up(state: State, call: Call) -> Reply:
    """One message of this interaction."""
    return Reply(body=message_json(state, _own(state, call)))


def edit_follow_up(state: State, call: Call) -> Reply:
    """Change one message of this interaction."""
    message = _own(state, call)
    if message.flags & LOADING:
        return Reply(body=message_json(state, _loaded(state, message, call.body)))
    return Reply(body=message_json(state, edited(state, message, call.body)))


def delete_follow_up(state: State, call: Call) -> Reply:
    """Take one message of this interaction away."""
    state.remove(_own(state, call), "bot")
    return NO_CONTENT


def _taken(
    state: State, interaction: Interaction, kind: int, data: Mapping[str, Any]
) -> Interaction:
    original_id = interaction.message_id
    if kind == SHOW_MODAL:
        refuse_form(modal_errors(data))
        return replace(interaction, answer=kind, modal=data)
    if kind == SAY:
        original_id = _say(state, interaction, draft_of(data), data).id
    if kind == DEFER:
        original_id = _say(state, interaction, DEFERRAL, data).id
    if kind == UPDATE:
        edited(state, _message(state, interaction.message_id), data)
    return replace(interaction, answer=kind, original_id=original_id)


def _say(state: State, interaction: Interaction, draft: Draft, form: Mapping[str, Any]) -> Message:
    channel = state.channel(interaction.channel_id)
    if channel.archived and channel.locked:
        raise Refused(THREAD_ARCHIVED)
    flags = draft.flags | int(form.get("flags") or 0) & EPHEMERAL
    message = Message(
        id=state.snowflakes.next(),
        channel_id=channel.id,
        author=state.bot,
        content=draft.content,
        embeds=draft.embeds,
        components=draft.components,
        flags=flags,
        posted_at=state.clock.now(),
        pings=pings(state, form, draft.content, None, BY_BOT),
        shown_to=interaction.user.id if flags & EPHEMERAL else None,
        application_id=state.application_id,
    )
    return state.post(message)


def _loaded(state: State, message: Message, form: Mapping[str, Any]) -> Message:
    """What was deferred is said; whether only one user sees it was settled by the deferral."""
    draft = draft_of(form)
    changed = replace(
        message,
        content=draft.content,
        embeds=draft.embeds,
        components=draft.components,
        flags=draft.flags | message.flags & EPHEMERAL,
    )
    state.messages[message.id] = changed
    return changed


def _opened(state: State, call: Call) -> Interaction:
    """The interaction whose token the path holds, once it was answered."""
    token = call.params["token"]
    found = [one for one in state.interactions.values() if one.token == token]
    if not found or state.clock.monotonic() - found[0].asked_at_s > TOKEN_LIVES_S:
        raise Refused(INVALID_WEBHOOK_TOKEN)
    if found[0].answer is None:
        raise Refused(UNKNOWN_WEBHOOK)
    return found[0]


def _own(state: State, call: Call) -> Message:
    interaction = _opened(state, call)
    message_id = call.params["message_id"]
    if message_id == ORIGINAL:
        return _message(state, interaction.original_id)
    if message_id not in (interaction.original_id, *interaction.said):
        raise Refused(UNKNOWN_MESSAGE)
    return _message(state, message_id)


def _message(state: State, message_id: str | None) -> Message:
    """A message of the interaction, whoever sees it."""
    if (message := state.messages.get(message_id or "")) is None:
        raise Refused(UNKNOWN_MESSAGE)
    return message


def _callback_json(state: State, answered: Interaction) -> dict[str, Any]:
    body: dict[str, Any] = {
        "interaction": {
            "id": answered.id,
            "type": answered.kind,
            "response_message_id": answered.original_id,
            "response_message_loading": answered.answer == DEFER,
            "response_message_ephemeral": False,
        },
        "resource": {"type": answered.answer},
    }
    message = state.messages.get(answered.original_id or "")
    if message is not None and answered.answer in (SAY, UPDATE):
        body["interaction"]["response_message_ephemeral"] = message.shown_to is not None
        body["resource"]["message"] = message_json(state, message)
    return body
