import pytest
from contracts.notices import DETAILS
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.finish import FallbackNotice
from turnkeeper.domain.notice import (
    MAX_LINE_CHARS,
    MAX_LINES,
    MAX_MODEL_CHARS,
    MAX_TIPS,
    MAX_TITLE_CHARS,
    NoticeDetails,
)
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Slot

NOTICE = FallbackNotice(
    slot=Slot(number=2, is_lead=False),
    model="beta",
    route=Route.SERVER,
    failures=(),
    offers_opt_out=True,
)


def more(count: int) -> str:
    return f"… {count} more"


def test_it_takes_over_what_was_said() -> None:
    details = NoticeDetails.of(
        NOTICE, title="Another", text="beta answered, since:\n1. a\n2. b", tips=("turn it off",)
    )

    assert details == NoticeDetails(
        title="Another",
        lead="beta answered, since:",
        lines=("1. a", "2. b"),
        model="beta",
        slot=2,
        tips=("turn it off",),
    )


def test_secrets_do_not_come_into_it() -> None:
    planted = "sk-planted-0123456789"

    details = NoticeDetails.of(NOTICE, title=planted, text=f"{planted}\n{planted}", tips=(planted,))

    assert planted not in repr(details)


@given(st.text(), st.text(), st.lists(st.text()), st.integers(0, 60))
def test_whatever_was_said_it_stays_small(
    title: str, line: str, tips: list[str], count: int
) -> None:
    long = line * 500
    text = "\n".join([long] * count)

    details = NoticeDetails.of(NOTICE, title=title * 20, text=text, tips=tuple(tips))

    assert len(details.title) <= MAX_TITLE_CHARS
    assert len(details.model) <= MAX_MODEL_CHARS
    assert len(details.lines) <= MAX_LINES
    assert len(details.tips) <= MAX_TIPS
    assert max(map(len, (details.lead, *details.lines, *details.tips)), default=0) <= MAX_LINE_CHARS


def test_lines_beyond_the_most_are_counted() -> None:
    text = "\n".join(["lead", *(f"{n}. line" for n in range(1, MAX_LINES + 4))])

    details = NoticeDetails.of(NOTICE, title="t", text=text)

    assert (details.lines[-1], details.left_out) == (f"{MAX_LINES}. line", 3)


def test_it_shows_who_answered_then_why_then_what_to_do() -> None:
    details = NoticeDetails(
        title="t", lead="lead", lines=("1. a", "2. b"), model="beta", slot=2, tips=("tip", "other")
    )

    assert details.texts(4000, more) == ("lead", "1. a\n2. b", "tip\nother")


def test_the_last_lines_give_way_where_there_is_no_room() -> None:
    lines = tuple(f"{n}. {'x' * 96}" for n in range(1, 10))
    details = NoticeDetails(title="t", lead="lead", lines=lines, model="m", slot=1, left_out=2)

    _, why = details.texts(250, more)

    assert why == f"{lines[0]}\n{lines[1]}\n… 9 more"


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_where_nothing_was_said_the_model_is_named(blank: str) -> None:
    details = NoticeDetails(title="", lead=blank, lines=(), model="beta", slot=1)

    assert details.texts(4000, more) == ("beta",)


@given(
    st.builds(
        NoticeDetails,
        title=st.just("t"),
        lead=st.text(max_size=3000),
        lines=st.lists(st.text(max_size=900), max_size=20).map(tuple),
        model=st.just("beta"),
        slot=st.just(1),
        tips=st.lists(st.text(max_size=900), max_size=3).map(tuple),
        left_out=st.integers(0, 5),
    ),
    st.sampled_from([100, 1950, 4000]),
)
def test_the_texts_fit_and_none_is_blank(details: NoticeDetails, limit: int) -> None:
    texts = details.texts(limit, more)

    assert 1 <= len(texts) <= 3
    assert all(text.strip() for text in texts)
    assert sum(len(text) + 1 for text in texts) <= limit


def test_the_details_of_the_contract_are_shown_whole() -> None:
    assert DETAILS.texts(4000, more)[1].endswith("… 3 more")
