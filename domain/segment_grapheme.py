"""Where a text can be cut without parting what people see as one character."""

import unicodedata

_ZERO_WIDTH_JOINER = "\u200d"


def grapheme_start(text: str, at: int) -> int:
    """The last place at or before `at` between two characters; `at` if there is none but 0."""
    place = at
    while place > 0 and joins(text, place):
        place -= 1
    return place or at


def joins(text: str, at: int) -> bool:
    """Whether the code points before and at a place are one character."""
    if not 0 < at < len(text):
        return False
    before, here = text[at - 1], text[at]
    if here < "\u0300" and before < "\u0300":
        return before == "\r" and here == "\n"
    return (
        extends(here)
        or before == _ZERO_WIDTH_JOINER
        or (_is_flag_half(here) and _flag_halves_before(text, at) % 2 == 1)
        or _is_one_syllable(before, here)
        or (unicodedata.combining(before) == 9 and here.isalpha())  # a virama binds two letters
    )


def extends(sign: str) -> bool:
    """Whether a code point belongs to the one before it, whatever that is."""
    return (
        sign == _ZERO_WIDTH_JOINER
        or "\U0001f3fb" <= sign <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= sign <= "\U000e007f"  # tags, of which some flags are made
        or sign in "\u0e33\u0eb3"  # Thai and Lao "am"
        or unicodedata.category(sign)[0] == "M"  # marks, variation selectors and keycaps
    )


def _is_flag_half(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start


def _is_one_syllable(before: str, here: str) -> bool:
    """Whether two parts of a Hangul syllable meet."""
    if not "\u1100" <= here <= "\u11ff":
        return False
    if here < "\u1160":  # a leading consonant
        return "\u1100" <= before < "\u1160"
    return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
