"""A channel as text, for people who look at a failing test."""

from turnkeeper.infrastructure.discord_double.component_rules import (
    BUTTON,
    TEXT_DISPLAY,
    nested,
)
from turnkeeper.infrastructure.discord_double.message import LOADING, Message


def transcript_of(messages: tuple[Message, ...]) -> str:
    """One paragraph a message: who, how, what, and the buttons below it."""
    return "\n".join(_told(message) for message in messages)


def _told(message: Message) -> str:
    marks = [_kind(message)]
    if message.reply_to is not None:
        marks.append(f"answers {message.reply_to}")
    if message.edited_at is not None:
        marks.append("edited")
    lines = [f"{message.author.name} ({', '.join(marks)}):", *_body(message)]
    return "\n    ".join(lines)


def _kind(message: Message) -> str:
    if message.author.webhook_id is not None:
        return "webhook"
    return "bot" if message.author.bot else "person"


def _body(message: Message) -> list[str]:
    if message.flags & LOADING:
        return ["(is thinking)"]
    lines = message.content.splitlines()
    for embed in message.embeds:
        lines += [f"| {embed[name]}" for name in ("title", "description") if embed.get(name)]
    for component in nested(message.components):
        if component.get("type") == TEXT_DISPLAY:
            lines += str(component["content"]).splitlines()
        if component.get("type") == BUTTON:
            lines.append(f"[{component.get('label', '')}]")
    return lines
