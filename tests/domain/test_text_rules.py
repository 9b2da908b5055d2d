"""Rules that make no sense are refused."""

import pytest

from turnkeeper.domain.text_rules import TextRules


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"hold_chars": -1}, "hold_chars"),
        ({"hold_s": -0.1}, "hold_s"),
        ({"stand_alone_chars": 0}, "stand_alone_chars"),
        ({"dedupe_from": 7}, "dedupe_from"),
        ({"speakers": ("Bob", " ")}, "speakers"),
        ({"speakers": ("**",)}, "speakers"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        TextRules(**wrong)  # type: ignore[arg-type]


def test_nothing_is_taken_for_a_repeat_unless_that_is_asked_for() -> None:
    assert TextRules().dedupe_from is None
