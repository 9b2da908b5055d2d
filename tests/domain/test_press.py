import pytest

from turnkeeper.domain.press import MAX_BUTTON_CHARS, Press, StopButton

TURN = "0123456789abcdef0123456789abcdef"
ASKER = "115590097100865541"
STOP = StopButton(turn_id=TURN, asker_id=ASKER)


@pytest.mark.parametrize(
    "stop",
    [
        STOP,
        StopButton(turn_id=TURN),
        StopButton(turn_id="a:b:c", asker_id="1"),
        StopButton(turn_id="t", asker_id="1" * 20),
    ],
)
def test_a_stop_button_is_read_from_its_name(stop: StopButton) -> None:
    assert StopButton.of(stop.button) == stop


@pytest.mark.parametrize(
    "stop",
    [
        StopButton(turn_id=""),
        StopButton(turn_id="x" * MAX_BUTTON_CHARS),
        StopButton(turn_id="a turn"),
        StopButton(turn_id="t\x00"),
        StopButton(turn_id="t", asker_id="1:2"),
    ],
    ids=["empty", "long", "blank", "unprintable", "colon"],
)
def test_what_would_not_be_read_again_is_refused(stop: StopButton) -> None:
    with pytest.raises(ValueError, match="does not fit a button"):
        _ = stop.button


@pytest.mark.parametrize(
    "name", ["", "turnkeeper:details", "turnkeeper:stop:", "turnkeeper:stop:1", "other:stop:1:t"]
)
def test_other_buttons_stop_nothing(name: str) -> None:
    assert StopButton.of(name) is None


@pytest.mark.parametrize(
    ("user_id", "moderates", "obeyed"),
    [(ASKER, False, True), ("2", False, False), ("2", True, True)],
    ids=["asker", "somebody", "moderator"],
)
def test_the_asker_and_moderators_may_stop(user_id: str, moderates: bool, obeyed: bool) -> None:
    press = Press(button=STOP.button, user_id=user_id, moderates=moderates)

    assert STOP.obeys(press) is obeyed


def test_a_turn_that_nobody_asked_for_is_stopped_by_moderators_only() -> None:
    stop = StopButton(turn_id=TURN)

    assert not stop.obeys(Press(button=stop.button, user_id="2"))
    assert stop.obeys(Press(button=stop.button, user_id="2", moderates=True))
