"""What went wrong beside the answer, explained: what it was, why, and what was done about it."""

from collections.abc import Mapping

from turnkeeper.domain.events import EffectFailed
from turnkeeper.interfaces.explain_words import so, words

EFFECTS: Mapping[str, tuple[str, str]] = {
    "turn": ("the turn was thrown out of its course", "ended it with an error"),
    "ledger": (
        "what is about to be posted could not be written down",
        "posted it all the same, to be noted on this machine",
    ),
    "spool": (
        "it could not be noted on this machine either",
        "it stands in the channel all the same",
    ),
    "settle": (
        "the end of the turn could not be written",
        "kept it to be written later, unless the store refuses it for good",
    ),
    "booking": ("a key could not be booked", "kept it, to be written with the turn's end"),
    "sink": ("trouble at the destination", ""),
}
"""What it means that an effect failed, and what is then always done; empty where its cause tells.

Those that are not here had nothing to be done about them.
"""

ANNOUNCED = frozenset({"error", "timeout", "empty", "refusal", "fallback_notice"})
"""What people are told, as `Said` names it."""


def went_wrong(event: EffectFailed) -> str:
    """One line: what did not work, the cause, and what was done."""
    what, done = EFFECTS.get(event.effect, (_in_general(event.effect), ""))
    return f"{what}{so(event.cause)}{f'; done: {done}' if done else ''}"


def _in_general(effect: str) -> str:
    if effect in ANNOUNCED:
        return f"on the side, the {words(effect)} could not be said"
    return f"on the side, {words(effect)} did not work"
