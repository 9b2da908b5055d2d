"""Texts read for the calls that a model wrote into them."""

from collections.abc import Iterable

from turnkeeper.domain.verbatim_calls import Piece, VerbatimCalls


def read(pieces: Iterable[str], *, names: Iterable[str], was_cut: bool = False) -> list[Piece]:
    """What comes of the pieces, with texts in a row as one."""
    calls = VerbatimCalls(names)
    told = [one for piece in pieces for one in calls.feed(piece)]
    told += calls.end(was_cut=was_cut)
    joined: list[Piece] = []
    for piece in told:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined
