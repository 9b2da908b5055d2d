"""Presses of buttons: what the buttons are called, who pressed what, and what is answered."""

from turnkeeper.domain.frozen import frozen

PREFIX = "turnkeeper:"
DETAILS_BUTTON = f"{PREFIX}details"
"""The button of a fallback notice; the message that it stands on says which."""

STOP_BUTTON = f"{PREFIX}stop:"
MAX_BUTTON_CHARS = 100

MAX_MODAL_CHARS = 4000
MAX_MESSAGE_CHARS = 2000


@frozen
class Press:
    """Somebody pressed a button, or sent what it had opened.

    Attributes:
        button: What the button is called.
        user_id: Who pressed it.
        message_id: The message that it stands on; empty if that was not said.
        locale: The language of whoever pressed it.
        moderates: Whether they may manage the messages of others there.
        is_sent: Whether it is the sending of what a press had opened.
    """

    button: str
    user_id: str
    message_id: str = ""
    locale: str = "en"
    moderates: bool = False
    is_sent: bool = False


@frozen
class StopButton:
    """A button that stops a turn.

    Attributes:
        turn_id: Which turn.
        asker_id: Who asked for it, or None if nobody did.
    """

    turn_id: str
    asker_id: str | None = None

    @property
    def button(self) -> str:
        """What it is called. It says all there is to know, so that it is kept nowhere.

        Raises:
            ValueError: The ids are too long, or no ids.
        """
        name = f"{STOP_BUTTON}{self.asker_id or ''}:{self.turn_id}"
        if len(name) > MAX_BUTTON_CHARS or self.of(name) != self:
            raise ValueError(
                f"turn {self.turn_id!r} of {self.asker_id!r} does not fit a button of"
                f" {MAX_BUTTON_CHARS} characters; give turns shorter ids, without blanks"
            )
        return name

    @classmethod
    def of(cls, button: str) -> "StopButton | None":
        """The button that is called so, or None if it is another."""
        if not button.startswith(STOP_BUTTON):
            return None
        asker_id, _, turn_id = button.removeprefix(STOP_BUTTON).partition(":")
        if not turn_id or not (turn_id + asker_id).isprintable() or " " in turn_id + asker_id:
            return None
        return cls(turn_id=turn_id, asker_id=asker_id or None)

    def obeys(self, press: Press) -> bool:
        """Whether whoever pressed may stop the turn: its asker, and who manages messages there."""
        return press.moderates or press.user_id == self.asker_id


@frozen
class Whisper:
    """A message that only whoever pressed sees."""

    text: str


@frozen
class OpenModal:
    """Texts to read, in a window of their own.

    Attributes:
        title: A short line, not blank.
        texts: From one to three; none is blank.
        otherwise: What is said where the window is refused.
    """

    title: str
    texts: tuple[str, ...]
    otherwise: Whisper


Reply = Whisper | OpenModal
