"""What happens in a turn, as the journal keeps it. Everything anybody later asks is read here."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import count
from typing import overload

from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import TurnPolicy


@frozen
class TurnStarted:
    """A turn was planned.

    Attributes:
        route: Whose credentials are to pay.
        attempts: What may be tried, in order.
        server_route: Whether the server's models may follow, or why not.
        audience: Who is told of a failure.
        resting: Numbers of the attempts whose model rests.
        policy: How hard it tries; None where an older version wrote the journal.
        server_id: Whose server it is; empty where an older version wrote the journal.
        channel_id: Where it is answered; the same.
        user_id: Who asked, or None.
    """

    route: Route
    attempts: tuple[Attempt, ...]
    server_route: str
    audience: str
    resting: tuple[int, ...] = ()
    policy: TurnPolicy | None = None
    server_id: str = ""
    channel_id: str = ""
    user_id: str | None = None


@frozen
class TurnRefused:
    """An admission refused the turn, until so many seconds later, or nobody knows (None)."""

    kind: str
    where: str
    already_said: bool = False
    cause: str = ""
    next_in_s: float | None = None


@frozen
class QuotaReserved:
    """A unit of the server's quota was set aside."""

    trigger_key: str


@frozen
class AttemptPrepared:
    """An attempt was made ready; the numbers are those of `answers.Prepared`."""

    attempt_no: int
    input_tokens: int
    max_output_tokens: int | None
    dropped: int = 0
    least_tokens: int = 0
    has_media: bool = False


@frozen
class AttemptUnpreparable:
    """An attempt could not be made ready."""

    attempt_no: int
    cause: str


@frozen
class KeyLeased:
    """A key was lent that was to be none of `without` (None: an older version did not say)."""

    attempt_no: int
    key_id: int
    is_main: bool
    is_probe: bool
    without: tuple[int, ...] | None = None


@frozen
class NoKeyLeft:
    """No key could be lent; the soonest is back in so many seconds, or never (None)."""

    attempt_no: int
    next_in_s: float | None
    cause: str = ""
    without: tuple[int, ...] | None = None


@frozen
class Waited:
    """The turn waited: for a key that was coming back, or before it was run again.

    Attributes:
        attempt_no: With which attempt.
        for_s: How long it was to wait, cut by the turn's deadline.
        why: For what.
        until_s: Until when, in seconds since the turn began; None if an older version wrote it.
    """

    attempt_no: int
    for_s: float
    why: str
    until_s: float | None = None


@frozen
class InvocationStarted:
    """An attempt ran with a key.

    Attributes:
        attempt_no: Which attempt.
        invocation_no: Which invocation of the turn, from 0.
        key_id: The key, or None where none was needed.
        adjust: How it differed from the invocation before; a class of `adjust`.
        tokens: To how many tokens it was shrunk or capped, where it was.
        take_back: Ids of the messages to be taken back first.
        another_may_answer: Whether anything was left to try. It and the ids are None where an
            older version wrote them.
    """

    attempt_no: int
    invocation_no: int
    key_id: int | None
    adjust: str = "AsIs"
    tokens: int | None = None
    take_back: tuple[str, ...] | None = None
    another_may_answer: bool | None = None


@frozen
class FirstProgress:
    """The first text, reasoning or tool argument came."""

    invocation_no: int
    after_s: float


@frozen
class ToolRan:
    """A tool that the model called came to its end, or was no longer waited for.

    Attributes:
        invocation_no: Which invocation of the turn.
        name: The tool.
        nth: How many equal calls came before it in the invocation.
        state: ``done``, ``failed``, ``unknown``, or ``refused`` where it was not run.
        replayed: Whether an earlier invocation's run answered the call.
        took_s: How long it ran, or how long it had run when it was no longer waited for.
        ended_ago_s: How long before this entry that was; the runs of one answer are noted together.
    """

    invocation_no: int
    name: str
    nth: int
    state: str
    replayed: bool = False
    took_s: float = 0.0
    ended_ago_s: float = 0.0


@frozen
class MessagePosted:
    """A message is in the channel."""

    invocation_no: int
    message_id: str
    origin: str
    chars: int


@frozen
class MessageTakenBack:
    """A message of a superseded invocation was deleted; `late` where it came after the seal."""

    message_id: str
    late: bool = False


@frozen
class MessageStuck:
    """The destination refused to delete a superseded message."""

    message_id: str
    cause: str


@frozen
class InvocationEnded:
    """An invocation came to an outcome.

    Attributes:
        attempt_no: Which attempt.
        invocation_no: Which invocation of the turn, from 0.
        outcome: The outcome's name.
        failure: What failed, or None.
        detail: The finish, stop reason, limit or destination code, or empty.
        reply_chars: How much of a reply was delivered.
        delivered_by_tool: Whether a tool answered in the channel itself.
        kept: Ids of the messages that it had posted.
        input_tokens: As reported, or None.
        output_tokens: As reported, or None.
        response_model: Which model answered, in the provider's words, or None if it did not say.
        ended_at_s: When, in seconds since the turn began; None if an older version wrote it.
    """

    attempt_no: int
    invocation_no: int
    outcome: str
    failure: Failure | None = None
    detail: str = ""
    reply_chars: int = 0
    delivered_by_tool: bool = False
    kept: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    response_model: str | None = None
    ended_at_s: float | None = None


@frozen
class KeyBooked:
    """An outcome was booked on the key that was used."""

    attempt_no: int
    invocation_no: int
    key_id: int
    booking: str
    error_class: str = ""
    rests: str = "nothing"
    rest_s: float = 0.0


@frozen
class ModelRested:
    """A model is put behind the others for a while."""

    attempt_no: int
    for_s: float
    cause: str


@frozen
class ServerRouteAsked:
    """The server was asked for its models.

    Attributes:
        answer: ``opened``, ``withheld``, ``refused`` or ``failed``.
        attempts: Its attempts where it opened.
        cause: Why not, where it did not.
        resting: Numbers of the attempts whose model rests.
        next_in_s: In how many seconds it would no longer refuse, or None if nobody knows.
    """

    answer: str
    attempts: tuple[Attempt, ...] = ()
    cause: str = ""
    resting: tuple[int, ...] = ()
    next_in_s: float | None = None


@frozen
class SignalHeard:
    """A stop, a follow-up or the deadline reached the turn."""

    signal: str


@frozen
class Said:
    """People, or the caller, were told something.

    Attributes:
        what: ``error``, ``timeout``, ``empty``, ``refusal`` or ``fallback_notice``.
        to: ``person``, ``caller`` or ``journal``.
    """

    what: str
    to: str


@frozen
class QuotaSettled:
    """The unit that was set aside was used, or went back."""

    trigger_key: str
    committed: bool


@frozen
class Finalized:
    """The sink was told how the turn ended."""

    status: str


@frozen
class CleanedUp:
    """The sink's resources of the turn were released."""


@frozen
class TurnEnded:
    """The turn is over; says again what stands in the channel."""

    status: str
    responses: int
    delivered_by_tool: bool
    kept: tuple[str, ...] = ()
    success_model: str | None = None
    raised: bool = False


@frozen
class TurnSwept:
    """The turn's process died, and another swept up; what is missing before it is not known.

    Attributes:
        by: Who swept.
        silent_s: How long the turn had given no sign of life.
        last_seq: The last entry that the turn wrote, or None; what came after it is lost.
        taken_back: Ids of the messages that were taken back.
        stuck: Ids of those that the destination does not delete.
        absent: How many were to be posted, and are not there.
    """

    by: str
    silent_s: float
    last_seq: int | None = None
    taken_back: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    absent: int = 0


SWEPT_SEQ = 1_000_000
"""The number from which a sweep's entries count, beyond all that a turn itself may still write."""


@frozen
class EffectFailed:
    """Something done on the side did not work; the turn went on."""

    effect: str
    cause: str


Event = (
    TurnStarted
    | TurnRefused
    | QuotaReserved
    | AttemptPrepared
    | AttemptUnpreparable
    | KeyLeased
    | NoKeyLeft
    | Waited
    | InvocationStarted
    | FirstProgress
    | ToolRan
    | MessagePosted
    | MessageTakenBack
    | MessageStuck
    | InvocationEnded
    | KeyBooked
    | ModelRested
    | ServerRouteAsked
    | SignalHeard
    | Said
    | QuotaSettled
    | Finalized
    | CleanedUp
    | TurnEnded
    | TurnSwept
    | EffectFailed
)


@frozen(kw_only=False)
class Entry:
    """An event with its time and place in a turn's journal.

    Attributes:
        turn_id: Which turn.
        seq: From 0, without gaps; a sweep's entries are numbered from `SWEPT_SEQ`.
        at_s: Seconds since the turn began.
        event: What happened.
    """

    turn_id: str
    seq: int
    at_s: float
    event: Event = field()


class Entries(Sequence[Entry]):
    """Entries of one turn that follow each other. They are made when they are looked at.

    Attributes:
        turn_id: Which turn.
        first_no: The number of the first.
        rows: Of each one after the other when it was and what happened.
    """

    __slots__ = ("first_no", "rows", "turn_id")

    def __init__(self, turn_id: str, first_no: int, rows: list[float | Event]) -> None:
        self.turn_id = turn_id
        self.first_no = first_no
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows) // 2

    def __iter__(self) -> Iterator[Entry]:
        rows, turn_id = self.rows, self.turn_id
        numbered = zip(count(self.first_no), rows[::2], rows[1::2], strict=False)
        return (Entry(turn_id, no, at_s, event) for no, at_s, event in numbered)  # type: ignore[arg-type]

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, place: int | slice) -> Entry | tuple[Entry, ...]:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
