"""One running turn, as the use cases hand it to each other."""

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.sink import Sink, Target
from turnkeeper.application.recorder import Recorder
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.turn import TurnRequest


@frozen
class Stage:
    """What stays the same through a turn.

    Attributes:
        request: What was asked.
        sink: Where the turn speaks.
        target: Where and as whom each post speaks.
        deadline: By when the turn is over.
        recorder: What notes its events.
        mailbox: Where signals reach it.
    """

    request: TurnRequest
    sink: Sink
    target: Target
    deadline: Deadline
    recorder: Recorder
    mailbox: Mailbox

    @property
    def turn_id(self) -> str:
        """The id under which it is journalled."""
        return self.recorder.turn_id
