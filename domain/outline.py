"""A conversation at a glance: a byte an item, so that a long one is searched, not looped over."""

SYSTEM, USER, MODEL, TOOL = range(4)
"""Who says an item: its two lowest bits."""
MAY_GO = 0x04
"""It goes with the history, so it may be left out."""
ASKS = 0x08
"""A user says it, as a part of the history."""
ODD = 0x80
"""It has to be looked at: it is more than a text, or less, or what a tool gave, or scaffolding."""

_ASKED = (USER | MAY_GO | ASKS, USER | MAY_GO | ASKS | ODD)
_IS_ODD = bytes([kind >= ODD for kind in range(256)])
_MAY_GO = bytes([kind & MAY_GO != 0 for kind in range(256)])


def odd(outline: bytes) -> bytes:
    """A 1 for each that is odd, a 0 for each that is not."""
    return outline.translate(_IS_ODD)


def may_go(outline: bytes) -> bytes:
    """A 1 for each that may be left out, a 0 for each that may not, as far as there are any.

    What comes after the newest of a user stays with it.
    """
    newest = max(map(outline.rfind, _ASKED))
    return outline[: max(0, newest)].translate(_MAY_GO)
