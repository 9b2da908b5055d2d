"""What an invocation came to, and what it left behind."""

from enum import Enum
from operator import attrgetter

from turnkeeper.domain.conversation import Item
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.rotation import Lease
from turnkeeper.domain.stream import FinishReason, ServingProvider, Usage


class Origin(Enum):
    """What posted a message."""

    STREAM = "stream"
    PROGRESS = "progress"
    TOOL = "tool"


@frozen
class Delivery:
    """One message that is in the channel.

    Attributes:
        message_id: The destination's id for it.
        channel_id: Where it is.
        text: What it says.
        origin: What posted it.
        thread_id: The thread within the channel, or None.
        webhook_id: The webhook that sent it, or None for the bot itself.
        url: Where people find it, or None.
    """

    message_id: str
    channel_id: str
    text: str
    origin: Origin = Origin.STREAM
    thread_id: str | None = None
    webhook_id: str | None = None
    url: str | None = None

    @property
    def can_be_superseded(self) -> bool:
        """Whether it goes when its invocation is superseded; what a tool posted stays."""
        return self.origin is not Origin.TOOL


def ids_of(deliveries: tuple[Delivery, ...]) -> tuple[str, ...]:
    """The ids of their messages, in order."""
    return tuple(map(_message_id, deliveries))


_message_id = attrgetter("message_id")


class ToolState(Enum):
    """What is known of a tool run."""

    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """Timed out or killed: it may have happened."""


@frozen
class ToolRecord:
    """One tool run of the turn, kept so that a later invocation does not run it again.

    Attributes:
        name: The tool.
        arguments_hash: SHA-256 of its canonical arguments, hex.
        nth: How many equal calls came before it in the turn.
        state: What is known of it.
        result_json: What the model is told.
        arguments_json: The arguments as the model wrote them.
        delivered: Whether it put something into the channel that answers people.
        context: What the conversation gained by it.
    """

    name: str
    arguments_hash: str
    nth: int
    state: ToolState
    result_json: str
    arguments_json: str = "{}"
    delivered: bool = False
    context: tuple[Item, ...] = ()


@frozen
class ThoughtLog:
    """What was thought on the way to the answer.

    Attributes:
        summary: The provider's summary of its reasoning, or None.
        raw: The reasoning itself, or None.
        fetched_content: What tools fetched, or None.
        first_reply_url: Where the answer begins, or None.
        generation_ms: How long it took, in milliseconds, or None.
        serving_provider: Who really answered, or None.
    """

    summary: str | None = None
    raw: str | None = None
    fetched_content: str | None = None
    first_reply_url: str | None = None
    generation_ms: int | None = None
    serving_provider: str | None = None


class TurnStatus(Enum):
    """How a turn, or one provider call of it, ended."""

    COMPLETED = "completed"
    FUNCTION_CALL = "function_call"
    ERROR = "error"
    TIMEOUT = "timeout"
    STOPPED_BY_USER = "stopped_by_user"
    EMPTY_RESPONSE = "empty_response"
    FOLLOW_UP_INTERRUPT = "follow_up_interrupt"
    SKIPPED = "skipped"


RUNNING = "running"
"""Stands for the status of a turn of which no end is known yet."""
GIVEN_UP = "given_up"
"""Stands for the status of a turn that was found dead."""
TURN_STATES = (
    RUNNING,
    *(status.value for status in TurnStatus if status is not TurnStatus.FUNCTION_CALL),
    GIVEN_UP,
)
"""How a whole turn may stand."""


class StopReason(Enum):
    """Who or what stopped an invocation."""

    USER_REQUEST = "user_request"
    SYSTEM_REQUEST = "system_request"
    SPEAKER_GUARD = "speaker_guard"
    SEND_MESSAGE_LIMIT = "send_message_limit"
    FLUSH_LIMIT = "flush_limit"


class TimeoutPhase(Enum):
    """Which limit was passed."""

    FIRST_PROGRESS = "first_progress"
    SILENCE = "silence"
    PACE = "pace"
    ATTEMPT = "attempt"
    TURN = "turn"
    TOOLS = "tools"


@frozen
class StreamResult:
    """How one provider call ended.

    Attributes:
        status: How.
        text: What of its text was delivered.
        finish: Why the provider ended it, or None where it did not.
        failure: What failed, or None.
        usage: The tokens it used, or None if unreported.
        serving: Who really served it, or None if unsaid.
    """

    status: TurnStatus
    text: str = ""
    finish: FinishReason | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    serving: ServingProvider | None = None


@frozen
class Ran:
    """What any invocation leaves behind, however it ended.

    Attributes:
        attempt_no: Which attempt it ran.
        lease: The key it used, or None where none was needed.
        delivered: What it put into the channel, in order.
        tool_results: The tool runs of the turn so far.
        usage: The tokens of all its calls, or None if unreported.
        reply_text: The text of the persona's answer that was delivered, possibly empty.
        thought_log: What was thought, or None.
        stream_results: One a provider call.
        ended_at_s: When, by the monotonic clock.
    """

    attempt_no: int
    lease: Lease | None = None
    delivered: tuple[Delivery, ...] = ()
    tool_results: tuple[ToolRecord, ...] = ()
    usage: Usage | None = None
    reply_text: str = ""
    thought_log: ThoughtLog | None = None
    stream_results: tuple[StreamResult, ...] = ()
    ended_at_s: float = 0.0

    @property
    def superseded(self) -> tuple[Delivery, ...]:
        """What is taken back once another invocation is certain."""
        return tuple([delivery for delivery in self.delivered if delivery.can_be_superseded])


@frozen
class Answered:
    """A whole answer; or a tool answered in its place."""

    ran: Ran
    delivered_by_tool: bool = False

    def __post_init__(self) -> None:
        if not self.ran.reply_text and not self.delivered_by_tool:
            raise ValueError("an answer has text, or was delivered by a tool; else it is Empty")


@frozen
class Empty:
    """A clean end with nothing to see."""

    ran: Ran
    finish: FinishReason | None


@frozen
class Stopped:
    """Somebody stopped it; what was shown stays."""

    ran: Ran
    reason: StopReason


@frozen
class Interrupted:
    """The user went on talking; what was shown stays."""

    ran: Ran


@frozen
class Failed:
    """The provider, the request or the store failed."""

    ran: Ran
    failure: Failure


@frozen
class TimedOut:
    """A limit was passed."""

    ran: Ran
    phase: TimeoutPhase
    failure: Failure


@frozen
class Unreachable:
    """Nobody can be reached at the destination; `code` is the destination's own."""

    ran: Ran
    code: str


@frozen
class Crashed:
    """A bug, ours or a plug-in's; takes the same way as a failure that was returned."""

    ran: Ran
    failure: Failure


# Tuples, as a union would be made anew for each look.
FAILED = (Failed, TimedOut, Crashed)
"""Those that hold a failure."""
SAID_SOMETHING = (Answered, Stopped, Interrupted)
"""Those of which what was said stands."""
ENDED_BY_ITSELF = (*SAID_SOMETHING, Unreachable)
"""Those after which nothing more is tried, and a later signal changes nothing."""
Outcome = Answered | Empty | Stopped | Interrupted | Failed | TimedOut | Unreachable | Crashed
