"""The words in which a replay is told."""

from collections.abc import Mapping

from turnkeeper.domain.choice import Choice, Detail
from turnkeeper.domain.replay import Difference, Replay
from turnkeeper.interfaces.explain_words import words

_DONE = {
    "prepare": "prepare {model}",
    "lease": "lend a key for {model}",
    "wait": "wait with {model}",
    "run": "ask {model}",
    "open": "ask for the server's models",
    "finish": "end the turn",
    "book": "book on the key of {model}",
    "rest": "let {model} rest",
}


def outcome_line(replay: Replay) -> str:
    """What came of a replay, in one line."""
    count = len(replay.differences)
    if count == 0:
        return f"turn {replay.turn_id}: same decisions ({replay.decisions} compared)"
    differ = "differs" if count == 1 else "differ"
    return f"turn {replay.turn_id}: {count} of {replay.decisions} decisions {differ}"


def difference_line(difference: Difference, replay: Replay) -> str:
    """One decision that differs: what was recorded, and what this version would do."""
    models = {attempt.number: attempt.model.name for attempt in replay.attempts}
    recorded, would = difference.recorded, difference.would
    names = None
    if recorded.is_of_the_kind(would):
        names = recorded.unlike(would)
    return (
        f"entry {difference.seq}: recorded: {_told(recorded, models, names)};"
        f" this version: {_told(would, models, names)}"
    )


def _told(choice: Choice, models: Mapping[int, str], names: frozenset[str] | None) -> str:
    """The choice, with these details of it; with all that say anything where none are named."""
    number = choice.attempt_no
    model = "" if number is None else models.get(number, f"attempt {number}")
    told = [
        f"{name} {_shown(value)}"
        for name, value in choice.details
        if (name in names if names is not None else value not in (None, "", False))
    ]
    done = _DONE[choice.what].format(model=model)
    return f"{done} ({', '.join(told)})" if told else done


def _shown(value: Detail) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None | "":
            return "none"
        case int():
            return str(value)
        case float():
            return f"{value:.2f} s"
        case str():
            return words(value)
