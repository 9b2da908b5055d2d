"""Which of two signals to one turn counts."""

from turnkeeper.domain.answers import Signal

STOPS = frozenset({Signal.STOP_REQUESTED, Signal.SYSTEM_STOP_REQUESTED})


def outranks(new: Signal, known: Signal | None) -> bool:
    """Whether a signal takes the place of what was sent before: a stop that of anything less."""
    return known is None or (new in STOPS and known not in STOPS)
