import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.secret import Sealed, Secret

PLANTED = "sk-planted-0123456789"


def test_a_secret_is_revealed_on_purpose() -> None:
    assert Secret(PLANTED).reveal() == PLANTED


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(repr(Secret(PLANTED)), id="repr"),
        pytest.param(str(Secret(PLANTED)), id="str"),
        pytest.param(f"{Secret(PLANTED)}", id="format"),
        pytest.param(f"{Secret(PLANTED)!r}", id="format repr"),
        pytest.param("%s" % Secret(PLANTED), id="percent"),  # noqa: UP031
    ],
)
def test_a_secret_does_not_show_itself(shown: str) -> None:
    assert shown == "Secret(…)"


def test_a_secret_in_a_column_is_padded_like_a_text() -> None:
    assert f"{Secret(PLANTED):>11}" == "  Secret(…)"


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Secret("")


@given(st.text(min_size=1), st.text(min_size=1))
def test_secrets_are_equal_when_their_texts_are(one: str, other: str) -> None:
    assert (Secret(one) == Secret(other)) == (one == other)


def test_equal_secrets_have_one_hash() -> None:
    assert len({Secret(PLANTED), Secret(PLANTED)}) == 1


def test_a_secret_is_not_equal_to_its_text() -> None:
    assert Secret(PLANTED) != PLANTED


def test_a_secret_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret(PLANTED))


def test_a_copied_secret_is_the_same() -> None:
    secret = Secret(PLANTED)

    assert copy.deepcopy((copy.copy(secret), secret)) == (secret, secret)


def test_a_secret_does_not_change() -> None:
    with pytest.raises(AttributeError, match="does not change"):
        Secret(PLANTED)._text = "other"


def test_pasted_text_loses_what_stands_around_it() -> None:
    assert Secret.pasted(f"\ufeff \t{PLANTED}\u200b\r\n") == Secret(PLANTED)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("sk-planted 0123", id="blank"),
        pytest.param("sk-planted\n0123", id="line break"),
        pytest.param("sk-planted\x000123", id="control character"),
        pytest.param("sk-planted\x7f0123", id="delete"),
        pytest.param("sk-plantеd-0123", id="cyrillic"),
        pytest.param("sk-planted\u200b0123", id="zero width"),
    ],
)
def test_pasted_text_of_more_than_one_visible_word_is_refused_without_echo(text: str) -> None:
    with pytest.raises(ValueError, match="character") as refusal:
        Secret.pasted(text)

    assert "0123" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "  \n", "\ufeff"])
def test_pasted_blanks_are_no_secret(text: str) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Secret.pasted(text)


def test_a_sealed_secret_has_a_version_from_1() -> None:
    with pytest.raises(ValueError, match="version is 0"):
        Sealed(version=0, data=b"")
