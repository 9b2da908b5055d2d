import re

import pytest

from turnkeeper.domain.pattern import lazily


def test_it_finds_what_the_expression_finds() -> None:
    late = lazily(r"(?P<what>\w+) apple", re.IGNORECASE)
    found = late.search("a Red Apple")
    assert found is not None
    assert found["what"] == "Red"
    assert late.fullmatch("an apple pie") is None
    assert (late.pattern, late.groups) == (r"(?P<what>\w+) apple", 1)


def test_it_is_compiled_when_it_is_first_used() -> None:
    broken = lazily("(")
    assert broken.pattern == "("
    with pytest.raises(re.error, match="unterminated"):
        broken.match("x")
