"""One builder for each value; everything has a default."""

from datetime import UTC, datetime

from turnkeeper.domain.answers import Leased, Prepared
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.model import Capabilities, Endpoint, Limits, Model, Sampling
from turnkeeper.domain.outcome import (
    Answered,
    Crashed,
    Delivery,
    Empty,
    Failed,
    Interrupted,
    Origin,
    Ran,
    Stopped,
    StopReason,
    StreamResult,
    TimedOut,
    TimeoutPhase,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.owner import Owner, Route
from turnkeeper.domain.phase import Ready
from turnkeeper.domain.plan import Attempt, Plan, ServerRoute, Slot
from turnkeeper.domain.rotation import KeyId, Lease
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.steps import TurnState
from turnkeeper.domain.stream import FinishReason
from turnkeeper.domain.turn import TurnRequest

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SERVER = Owner.server("guild")
USER = Owner.user("ann")


def a_model(
    name: str = "alpha", provider: str = "wall", window: int | None = None, **can: bool
) -> Model:
    return Model(
        id=f"{provider}:{name}",
        provider=provider,
        name=name,
        capabilities=Capabilities(**can),
        limits=Limits(window_tokens=window),
    )


def an_endpoint(
    endpoint_id: int = 1,
    *,
    connection_id: int | None = 1,
    model_id: str | None = None,
    requires_auth: bool = True,
    base_url: str = "http://127.0.0.1:9/v1",
    label: str = "mine",
) -> Endpoint:
    return Endpoint(
        id=endpoint_id,
        connection_id=connection_id,
        label=label,
        base_url=base_url,
        model_name=label,
        model_id=model_id,
        requires_auth=requires_auth,
        trusted=True,
    )


def an_attempt(
    number: int = 0,
    *,
    route: Route = Route.SERVER,
    model: Model | None = None,
    endpoint: Endpoint | None = None,
    cause: str | None = None,
    is_lead: bool | None = None,
    sampling: Sampling = Sampling(),
) -> Attempt:
    true_model = model or a_model(f"model-{number}")
    lead = number == 0 if is_lead is None else is_lead
    return Attempt(
        number=number,
        label="primary" if number == 0 else f"fallback {number}: {true_model.name}",
        route=route,
        owner=SERVER if route is Route.SERVER else USER,
        provider=true_model.provider,
        model=true_model,
        slot=Slot(number=1 if lead else number, is_lead=lead),
        endpoint=endpoint,
        sampling=sampling,
        cause=cause,
    )


def a_plan(
    count: int = 1,
    *,
    route: Route = Route.SERVER,
    server_route: ServerRoute = ServerRoute.NOT_APPLICABLE,
) -> Plan:
    attempts = tuple(an_attempt(number, route=route) for number in range(count))
    return Plan(route=route, attempts=attempts, server_route=server_route)


def a_lease(key: int = 1, *, owner: Owner = SERVER, leased_at: datetime = NOON) -> Lease:
    return Lease(
        owner=owner,
        provider="wall",
        key_id=KeyId(key),
        secret=Secret(f"sk-key-{key}"),
        leased_at=leased_at,
    )


def a_delivery(
    message_id: str = "m1", text: str = "some text", origin: Origin = Origin.STREAM
) -> Delivery:
    return Delivery(message_id=message_id, channel_id="channel", text=text, origin=origin)


def a_failure(
    kind: FailureKind = FailureKind.SERVER_ERROR, message: str = "", **more: object
) -> Failure:
    return Failure(kind=kind, message=message or kind.value, **more)  # type: ignore[arg-type]


def prepared(number: int = 0, **more: object) -> Prepared:
    return Prepared(attempt_no=number, conversation=Conversation(), **more)  # type: ignore[arg-type]


def ran(
    number: int = 0,
    *,
    lease: Lease | None = None,
    posted: tuple[Delivery, ...] = (),
    text: str = "",
    at_s: float = 0.0,
    status: TurnStatus = TurnStatus.COMPLETED,
) -> Ran:
    return Ran(
        attempt_no=number,
        lease=lease,
        delivered=posted,
        reply_text=text,
        stream_results=(StreamResult(status=status, text=text),),
        ended_at_s=at_s,
    )


class Outcomes:
    """Outcomes of the invocation that a state is ready for."""

    def __init__(self, state: TurnState) -> None:
        assert isinstance(state.at, Ready), f"nothing is ready to run: {state.next_step()}"
        self._number = state.at.prepared.attempt_no
        self._lease = state.at.lease

    def _ran(self, posted: tuple[Delivery, ...] = (), text: str = "", at_s: float = 0.0) -> Ran:
        return ran(self._number, lease=self._lease, posted=posted, text=text, at_s=at_s)

    def answered(self, text: str = "the answer") -> Answered:
        return Answered(ran=self._ran((a_delivery("answer", text),), text))

    def answered_by_tool(self) -> Answered:
        return Answered(ran=self._ran(), delivered_by_tool=True)

    def empty(self, finish: FinishReason | None = FinishReason.STOP, at_s: float = 0.0) -> Empty:
        return Empty(ran=self._ran(at_s=at_s), finish=finish)

    def failed(
        self,
        kind: FailureKind = FailureKind.SERVER_ERROR,
        *,
        posted: tuple[Delivery, ...] = (),
        **more: object,
    ) -> Failed:
        return Failed(ran=self._ran(posted), failure=a_failure(kind, **more))  # type: ignore[arg-type]

    def timed_out(
        self,
        phase: TimeoutPhase = TimeoutPhase.SILENCE,
        *,
        posted: tuple[Delivery, ...] = (),
    ) -> TimedOut:
        return TimedOut(ran=self._ran(posted), phase=phase, failure=a_failure(FailureKind.TIMEOUT))

    def stopped(self, text: str = "") -> Stopped:
        return Stopped(ran=self._ran(text=text), reason=StopReason.USER_REQUEST)

    def interrupted(self, text: str = "") -> Interrupted:
        return Interrupted(ran=self._ran(text=text))

    def unreachable(self, code: str = "10003") -> Unreachable:
        return Unreachable(ran=self._ran(), code=code)

    def crashed(self) -> Crashed:
        return Crashed(ran=self._ran(), failure=a_failure(FailureKind.CRASH))


def when_ready(state: TurnState, *, lease: Lease | None = None, **more: object) -> TurnState:
    """The state, its next attempt prepared and given a key."""
    step = state.next_step()
    number = getattr(step, "attempt_no", 0)
    if not isinstance(state.at, Ready) and type(step).__name__ == "Prepare":
        state = state.told(prepared(number, **more))
    if type(state.next_step()).__name__ == "LeaseKey":
        key = lease or a_lease(len(state.outcomes) + 1)
        state = state.told(Leased(attempt_no=number, lease=key))
    return state


def a_request(prompt: str = "Hello", **more: object) -> TurnRequest:
    settings: dict[str, object] = {"server_id": "guild", "channel_id": "channel", **more}
    return TurnRequest(conversation=Conversation.of(prompt), **settings)  # type: ignore[arg-type]
