from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from past_turns import failed, journal, started

from turnkeeper.domain import events
from turnkeeper.domain.events import Event
from turnkeeper.domain.reports import summary
from turnkeeper.domain.waterfall import waterfall

FEW = st.integers(min_value=0, max_value=2)
NAMES = st.sampled_from(["m0", "m1", "m2"])
SECONDS = st.floats(min_value=0.0, max_value=100.0)
OF_FIELD: dict[str, st.SearchStrategy[object]] = {
    **dict.fromkeys(("attempt_no", "invocation_no", "key_id", "nth"), FEW),
    **dict.fromkeys(("message_id",), NAMES),
    **dict.fromkeys(("after_s", "for_s", "took_s", "ended_ago_s", "rest_s", "silent_s"), SECONDS),
    **dict.fromkeys(("taken_back", "stuck", "kept"), st.lists(NAMES, max_size=2).map(tuple)),
}
MADE_BELOW = (events.TurnStarted, events.ServerRouteAsked, events.InvocationEnded)
ENDED = (failed(0, 0), replace(failed(0, 0), failure=None), replace(failed(0, 0), detail="silence"))


def any_of(kind: type[Event]) -> st.SearchStrategy[Event]:
    names = set(kind.__dataclass_fields__) & set(OF_FIELD)
    return st.builds(kind, **{name: OF_FIELD[name] for name in sorted(names)})


ANYTHING = st.one_of(
    *(any_of(kind) for kind in get_args(Event) if kind not in MADE_BELOW),
    st.just(started()),
    st.builds(
        lambda n: events.ServerRouteAsked(answer="opened", attempts=started().attempts[:n]), FEW
    ),
    st.builds(
        lambda end, attempt, number: replace(end, attempt_no=attempt, invocation_no=number),
        st.sampled_from(ENDED),
        FEW,
        FEW,
    ),
)
JOURNALS = st.lists(st.tuples(SECONDS, ANYTHING), max_size=30).map(
    lambda happened: journal(*sorted(happened, key=lambda one: one[0]))
)


@given(JOURNALS)
def test_whatever_is_in_a_journal_is_drawn_within_its_turn(
    entries: tuple[events.Entry, ...],
) -> None:
    drawn = waterfall(entries)

    for row in drawn.rows:
        assert 0.0 <= row.span.from_s <= row.span.to_s <= drawn.length_s
        for quiet in row.quiet:
            assert row.span.from_s <= quiet.from_s < quiet.to_s <= row.span.to_s
        if row.first_progress_s is not None:
            assert row.span.from_s <= row.first_progress_s <= row.span.to_s


@given(JOURNALS)
def test_whatever_is_in_a_journal_has_a_summary(entries: tuple[events.Entry, ...]) -> None:
    line = summary(entries)

    assert not (line.was_rescued and line.was_lost)
    assert line.length_s >= 0.0
