"""The result of a turn, from how it finished."""

from turnkeeper.domain.finish import Finish
from turnkeeper.domain.frozen import maker
from turnkeeper.domain.outcome import (
    SAID_SOMETHING,
    Answered,
    Empty,
    Outcome,
    TurnStatus,
    Unreachable,
)
from turnkeeper.domain.plan import Plan
from turnkeeper.domain.stream import FinishReason, Usage
from turnkeeper.domain.turn import (
    PersonaResponse,
    ThoughtLogOfDefault,
    ThoughtLogOfPersona,
    ThoughtLogOfUser,
    ThoughtLogOwner,
    TurnRequest,
    TurnResult,
)

_new_persona_response, _new_turn_result = maker(PersonaResponse), maker(TurnResult)
_WITHOUT_ANSWER = (TurnStatus.ERROR, TurnStatus.TIMEOUT)


def result_of(
    finish: Finish, plan: Plan, outcomes: tuple[Outcome, ...], request: TurnRequest, turn_id: str
) -> TurnResult:
    """How the turn ended, for the caller and the sink."""
    last, status, winner = finish.last_ran, finish.status, finish.winner
    if last is None:
        return TurnResult(
            status=status,
            turn_id=turn_id,
            usage=usage_of(outcomes),
            failures=finish.failures,
            refusal=finish.refusal,
        )
    ran = last.ran
    return _new_turn_result(
        status=status,
        turn_id=turn_id,
        stream_results=ran.stream_results,
        persona_responses=_responses(last, status, request),
        thought_log=ran.thought_log,
        thought_log_owner=thought_log_owner(request) if ran.thought_log else None,
        success_model=winner.model if winner else None,
        credential_source=plan.attempts[ran.attempt_no].route,
        usage=usage_of(outcomes),
        failures=finish.failures,
        refusal=finish.refusal,
        finish=_finish_of(last),
        delivered=ran.delivered,
        delivered_by_tool=isinstance(last, Answered) and last.delivered_by_tool,
    )


def thought_log_owner(request: TurnRequest) -> ThoughtLogOwner:
    """Whose thoughts a turn's are."""
    if request.impersonated is not None:
        who = request.impersonated
        return ThoughtLogOfUser(username=who.name.strip() or "User", avatar_url=who.avatar_url)
    if request.persona.is_alter:
        return ThoughtLogOfPersona(persona=request.persona)
    return ThoughtLogOfDefault()


def usage_of(outcomes: tuple[Outcome, ...]) -> Usage | None:
    """The tokens of all invocations, failed ones too; None if none reported any."""
    total: Usage | None = None
    for outcome in outcomes:
        usage = outcome.ran.usage
        if usage is not None:
            total = usage if total is None else total.plus(usage)
    return total


def _responses(
    last: Outcome, status: TurnStatus, request: TurnRequest
) -> tuple[PersonaResponse, ...]:
    """What was said: the answer, or what was kept of it when it was stopped."""
    if not isinstance(last, SAID_SOMETHING) or status in _WITHOUT_ANSWER:
        return ()
    text = last.ran.reply_text.strip()
    if not text:
        return ()
    persona = request.impersonated or request.persona
    return (
        _new_persona_response(
            text=text,
            persona_name=persona.name,
            persona_id=persona.id,
            persona_lineage_id=persona.lineage_id,
        ),
    )


def _finish_of(last: Outcome) -> FinishReason | None:
    if isinstance(last, Empty):
        return last.finish
    if isinstance(last, Unreachable) or not last.ran.stream_results:
        return None
    return last.ran.stream_results[-1].finish
