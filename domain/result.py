"""The result of a turn, from how it finished."""

from functools import reduce

from turnkeeper.domain.finish import Finish
from turnkeeper.domain.outcome import (
    Answered,
    Empty,
    Interrupted,
    Outcome,
    Stopped,
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


def result_of(
    finish: Finish, plan: Plan, outcomes: tuple[Outcome, ...], request: TurnRequest, turn_id: str
) -> TurnResult:
    """How the turn ended, for the caller and the sink."""
    last = finish.last_ran
    thought_log = last.ran.thought_log if last else None
    return TurnResult(
        status=finish.status,
        turn_id=turn_id,
        stream_results=last.ran.stream_results if last else (),
        persona_responses=_responses(last, finish.status, request),
        thought_log=thought_log,
        thought_log_owner=thought_log_owner(request) if thought_log else None,
        success_model=finish.winner.model if finish.winner else None,
        credential_source=plan.attempts[last.ran.attempt_no].route if last else None,
        usage=usage_of(outcomes),
        failures=finish.failures,
        refusal=finish.refusal,
        finish=_finish_of(last),
        delivered=last.ran.delivered if last else (),
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
    reported = [outcome.ran.usage for outcome in outcomes if outcome.ran.usage is not None]
    return reduce(Usage.plus, reported) if reported else None


def _responses(
    last: Outcome | None, status: TurnStatus, request: TurnRequest
) -> tuple[PersonaResponse, ...]:
    """What was said: the answer, or what was kept of it when it was stopped."""
    speaks = isinstance(last, Answered | Stopped | Interrupted)
    text = last.ran.reply_text.strip() if last is not None and speaks else ""
    if not text or status in (TurnStatus.ERROR, TurnStatus.TIMEOUT):
        return ()
    persona = request.impersonated or request.persona
    return (
        PersonaResponse(
            text=text,
            persona_name=persona.name,
            persona_id=persona.id,
            persona_lineage_id=persona.lineage_id,
        ),
    )


def _finish_of(last: Outcome | None) -> FinishReason | None:
    if isinstance(last, Empty):
        return last.finish
    if last is None or isinstance(last, Unreachable) or not last.ran.stream_results:
        return None
    return last.ran.stream_results[-1].finish
