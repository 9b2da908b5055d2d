"""The best place to cut a text that does not fit: pure."""

from collections.abc import Iterable

from turnkeeper.domain.segment_buffer import Buffer
from turnkeeper.domain.segment_fence import Fence, open_run
from turnkeeper.domain.segment_grapheme import grapheme_start
from turnkeeper.domain.segment_marks import steps
from turnkeeper.domain.segment_place import Place, Rank
from turnkeeper.domain.segment_sentence import sentence_ends


def prose_cut(buffer: Buffer) -> int:
    """Where the head ends: paragraph, line, sentence, table row, word, then anywhere.

    What would part emphasis, a link or a spoiler comes after all clean places; the last place
    of the best kind is taken, if it is not in the first half of what fits.
    """
    text, room, line_at = buffer.text, buffer.room, buffer.line_at
    floor = max(1, room // 2)
    places = [place for place in buffer.places if floor <= place.at <= room]
    if line_at < room:
        places += _within_line(buffer, text, max(floor, line_at))
    best = max(places, key=_goodness, default=None)
    return _before_code(text, line_at, best.at if best else grapheme_start(text, room))


def code_cut(buffer: Buffer) -> tuple[int, Fence | None]:
    """Where to cut a block of code, and the block that is open there.

    At a line's end, in the last tenth at a word's, then anywhere.
    """
    fence, text = buffer.fence, buffer.text
    assert fence is not None
    room = buffer.room - fence.closing_chars
    if fence.is_inline:
        end = text.find(fence.marker, 0, buffer.room)
        if end >= 0:
            return end + len(fence.marker), None
    lines = [place.at for place in buffer.places if room // 4 < place.at <= room]
    if lines:
        return lines[-1], fence
    first = buffer.code_at + 1
    space = text.rfind(" ", max(room - room // 10, first), room)
    cut = space if space > 0 else grapheme_start(text, room)
    return max(_before_run(text, cut, fence.marker[0]), first), fence


def unclosed_start(buffer: Buffer, limit: int) -> tuple[int, Fence] | None:
    """Where code starts, if all of the text is one line of it that is not closed."""
    text, line_at = buffer.text, buffer.line_at
    run = open_run(text[line_at:])
    if run is None or text[: line_at + run[0]].strip() or len(run[1].marker) >= limit // 4:
        return None
    return line_at + run[0] + len(run[1].marker), run[1]


def _before_run(text: str, cut: int, sign: str) -> int:
    """A cut of a line of code does not leave it looking like the block's end."""
    head = text[:cut].rstrip()
    bare = head.rstrip(sign)
    return len(bare) if bare != head and bare.strip() else cut


def _goodness(place: Place) -> tuple[bool, Rank, int]:
    return place.is_clean, place.rank, place.at


def _within_line(buffer: Buffer, text: str, start: int) -> Iterable[Place]:
    room, line_at = buffer.room, buffer.line_at
    found = [(at, Rank.SENTENCE) for at in sentence_ends(text, start, room)]
    found += [(at, Rank.WORD) for at in range(start, room + 1) if text[at : at + 1].isspace()]
    marks = buffer.marks
    changes = list(steps(text[line_at:], marks, is_whole=False))[::-1]
    for at, rank in sorted(found):
        while changes and line_at + changes[-1][0] <= at:
            marks = changes.pop()[1]
        if grapheme_start(text, at) == at:
            yield Place(at, rank, not marks.is_open)


def _before_code(text: str, line_at: int, cut: int) -> int:
    """A cut in the code that the last line opens is made before its marker."""
    if cut <= line_at:
        return cut
    while cut > line_at + 1 and text[cut - 1] == "`" and text[cut : cut + 1] == "`":
        cut -= 1
    run = open_run(text[line_at:cut])
    if run is None or not text[: line_at + run[0]].strip():
        return cut
    return line_at + run[0]
