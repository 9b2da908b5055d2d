"""Finds pieces of a stream that a provider sent twice."""


class Repeats:
    """Watches the pieces of one stream. Used by one thread.

    Only a whole piece counts: one equal to the piece before it, or to all that came before it.
    A piece made of one smaller part again and again ("ha ha ha ha") is never taken for one.

    Args:
        from_chars: How long a piece is at least; None finds nothing.
    """

    def __init__(self, from_chars: int | None) -> None:
        self._from_chars = from_chars
        self._before = ""
        self._all: list[str] = []
        self._length = 0

    def again(self, piece: str) -> bool:
        """Whether a piece came before."""
        if self._from_chars is None or len(piece) < self._from_chars:
            return False
        return self._was_said(piece)

    def note(self, piece: str) -> None:
        """Note a piece that is taken."""
        if self._from_chars is not None:
            self._before = piece
            self._all.append(piece)
            self._length += len(piece)

    def start_over(self) -> None:
        """Forget what came: another stream begins."""
        self._before, self._all, self._length = "", [], 0

    def _was_said(self, piece: str) -> bool:
        if piece != self._before and not (
            len(piece) == self._length and piece == "".join(self._all)
        ):
            return False
        return (piece + piece).find(piece, 1) == len(piece)
