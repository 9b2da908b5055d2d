"""Reasoning in the forms that gateways give it, and the form in which it goes back."""

from typing import Any

import orjson

_JOINED = ("text", "summary", "data")


class ReasoningDetails:
    """OpenRouter's structured reasoning, put together from its pieces."""

    def __init__(self) -> None:
        self._details: list[dict[str, Any]] = []

    def read(self, details: object) -> None:
        """Take in one chunk's details."""
        if isinstance(details, list):
            for detail in details:
                if isinstance(detail, dict):
                    self._add(detail)

    def json(self) -> str | None:
        """All of it, to be sent back unchanged within a tool turn; None if there is none."""
        return orjson.dumps(self._details).decode() if self._details else None

    def _add(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if not _continues(last, detail):
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), str):
                last[name] += value
            elif value or name not in last:
                last[name] = value


def _continues(last: dict[str, Any], detail: dict[str, Any]) -> bool:
    """Whether it is a further piece; encrypted blocks come whole, each with its id."""
    is_same = all(last.get(name) == detail.get(name) for name in ("type", "index"))
    return bool(last) and is_same and detail.get("id") in (None, last.get("id"))


def thoughts_in(delta: dict[str, Any]) -> str:
    """The thinking of one delta, under either of its names."""
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    return thought if isinstance(thought, str) else ""


def split(parts: list[Any]) -> tuple[str, str]:
    """Text and thinking of a content that is a list of typed parts."""
    texts, thoughts = [], []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            texts.append(_text(part.get("text")))
            thoughts.append(_text(part.get("thinking")))
    return "".join(texts), "".join(thoughts)


def _text(value: object) -> str:
    if isinstance(value, list):
        return split(value)[0]
    return value if isinstance(value, str) else ""
