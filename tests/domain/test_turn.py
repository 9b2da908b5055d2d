from dataclasses import replace

from builders import a_delivery, a_failure

from turnkeeper.domain.outcome import StreamResult, ThoughtLog, TurnStatus
from turnkeeper.domain.turn import (
    AttemptFailure,
    PersonaResponse,
    ThoughtLogOfDefault,
    TurnResult,
)

SECRET = "what somebody wrote"
FAILED = AttemptFailure(attempt_no=0, label="primary", model="m", failure=a_failure())
RESULT = TurnResult(
    status=TurnStatus.COMPLETED,
    turn_id="t1",
    stream_results=(StreamResult(status=TurnStatus.COMPLETED, text=SECRET),),
    persona_responses=(PersonaResponse(text=SECRET, persona_name="Ann"),),
    thought_log=ThoughtLog(summary=SECRET, raw=SECRET, fetched_content=SECRET, generation_ms=12),
    thought_log_owner=ThoughtLogOfDefault(),
    failures=(FAILED,),
    delivered=(a_delivery("m1", text=SECRET),),
)


def test_a_result_without_texts_says_all_but_what_was_written() -> None:
    bare = RESULT.without_texts()

    assert SECRET in repr(RESULT)
    assert SECRET not in repr(bare)
    assert bare == TurnResult(
        status=TurnStatus.COMPLETED,
        turn_id="t1",
        stream_results=(StreamResult(status=TurnStatus.COMPLETED),),
        persona_responses=(PersonaResponse(text="", persona_name="Ann"),),
        thought_log=ThoughtLog(generation_ms=12),
        thought_log_owner=ThoughtLogOfDefault(),
        failures=(FAILED,),
        delivered=(a_delivery("m1", text=""),),
    )


def test_a_rescue_is_an_answer_after_a_failure() -> None:
    assert RESULT.was_rescued
    assert not replace(RESULT, failures=()).was_rescued
    assert not replace(RESULT, status=TurnStatus.ERROR).was_rescued
