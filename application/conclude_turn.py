"""The one place that speaks of failure and fallback, and that says how the turn ended."""

import re
from collections.abc import Callable
from datetime import datetime
from math import ceil

from turnkeeper.application.ports.catalogue import Catalogue
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.sink import Spoken
from turnkeeper.application.stage import Stage
from turnkeeper.domain.admission import RefusalKind, Refused
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.events import EffectFailed, Said
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.finish import ERROR_LIKE, FallbackNotice, Finish, Say
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Answered, Empty, StreamResult, TurnStatus
from turnkeeper.domain.plan import Attempt, Plan
from turnkeeper.domain.redact import redact
from turnkeeper.domain.result import result_of
from turnkeeper.domain.steps import TurnState
from turnkeeper.domain.turn import AttemptFailure, TurnResult

MAX_DETAIL_CHARS = 600
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""What a provider's code looks like; anything else is its own words."""


class ConcludeTurn:
    """Speaks once, and builds the result. Nothing is said anywhere else."""

    def __init__(self, *, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock

    def __call__(self, finish: Finish, state: TurnState, stage: Stage) -> TurnResult:
        """Say what is to be said of this end, and return the result."""
        if finish.notice is not None:
            self._give_notice(finish.notice, stage)
        if finish.refusal is not None:
            self._tell_refusal(finish, finish.refusal, stage)
        if finish.status in ERROR_LIKE:
            self._say_failure(finish, state.plan, stage)
        course = state.course
        result = result_of(finish, course.plan, state.ran, stage.request, stage.turn_id)
        return replace(result, retries=course.retries) if course.retries else result

    def crash(self, error: Exception, stage: Stage) -> None:
        """Tell people, where they are told such things, that the turn ended with a bug."""
        spoken = Spoken(
            title=self._text("error.title", stage), text=self._text(_crash_key(error), stage)
        )
        if stage.request.hears is not Audience.PERSON:
            stage.recorder.note(Said(what="error", to=_elsewhere(stage)))
            return
        _say("error", stage, lambda: stage.sink.emit_error(error, spoken))

    # ── failures ────────────────────────────────────────────────────────────────────────────

    def _say_failure(self, finish: Finish, plan: Plan, stage: Stage) -> None:
        what = _WHAT[finish.status]
        if finish.say is not Say.PERSON:
            stage.recorder.note(Said(what=what, to=_elsewhere(stage)))
            return
        failed = _said_of(finish)
        attempt = plan.attempts[failed.attempt_no] if failed else None
        spoken = self._spoken(finish, failed, attempt, stage)
        result = _stream_result(finish, failed)
        _say(what, stage, lambda: stage.sink.emit_stream_result(result, spoken))

    def _spoken(
        self,
        finish: Finish,
        failed: AttemptFailure | None,
        attempt: Attempt | None,
        stage: Stage,
    ) -> Spoken:
        title = self._text("error.title", stage)
        if failed is None or attempt is None:
            return Spoken(title=title, text=self._text("error.none", stage))
        kind = failed.failure.kind
        text = self._text(
            f"error.{kind.value}", stage, model=attempt.model.name, provider=attempt.provider
        )
        last = finish.last_ran
        if isinstance(last, Empty) and last.finish is not None:
            text = f"{text} {self._text(f'empty.{last.finish.value}', stage)}".strip()
        back_s = failed.failure.retry_after_s
        if kind is FailureKind.NO_KEY and back_s is not None:
            text = f"{text} {self._text('no_key.back', stage, seconds=ceil(back_s))}"
        tip = self._text(f"tip.{attempt.route.value}.{kind.value}", stage)
        return Spoken(title=title, text=text, tips=(tip,) if tip else ())

    # ── notices ─────────────────────────────────────────────────────────────────────────────

    def _give_notice(self, notice: FallbackNotice, stage: Stage) -> None:
        key = "notice.lead" if notice.slot.is_lead else "notice.fallback"
        lines = [self._text(key, stage, model=notice.model, slot=notice.slot.number)]
        lines += [
            self._text(
                "notice.failure", stage, number=n, model=one.model, detail=self._detail(one, stage)
            )
            for n, one in enumerate(notice.failures, start=1)
        ]
        tips = (self._text("notice.opt_out", stage),) if notice.offers_opt_out else ()
        title = self._text("notice.title", stage)
        spoken = Spoken(title=title, text="\n".join(lines), tips=tips)
        _say("fallback_notice", stage, lambda: stage.sink.notice(notice, spoken))

    def _tell_refusal(self, finish: Finish, refusal: Refused, stage: Stage) -> None:
        is_of_quota = refusal.kind in (RefusalKind.USER_QUOTA, RefusalKind.SERVER_QUOTA)
        concerns_turn = finish.status is TurnStatus.SKIPPED
        audible = stage.request.hears is Audience.PERSON and not refusal.already_said
        if not audible or not (is_of_quota or concerns_turn):
            stage.recorder.note(Said(what="refusal", to=_elsewhere(stage)))
            return
        text = self._text(f"refused.{refusal.kind.value}", stage, **self._until(refusal, stage))
        spoken = Spoken(title="", text=text)
        _say("refusal", stage, lambda: stage.sink.tell(spoken))

    def _until(self, refusal: Refused, stage: Stage) -> dict[str, object]:
        left_s = _left_s(refusal.until, self._clock.now())
        if left_s is None:
            return {"seconds": "?", "back": self._text("back.unknown", stage)}
        hours = ceil(left_s / 3600)
        back = (
            self._text("back.hours", stage, hours=hours)
            if hours <= 24
            else self._text("back.days", stage, days=ceil(left_s / 86_400))
        )
        return {"seconds": ceil(left_s), "back": back}

    def _detail(self, failed: AttemptFailure, stage: Stage) -> str:
        """Why an attempt failed, in our words and the provider's code: nothing it wrote itself."""
        failure = failed.failure
        provider = failure.provider or "the provider"
        words = self._text(
            f"error.{failure.kind.value}", stage, model=failed.model, provider=provider
        )
        code = failure.code if failure.code and _CODE.fullmatch(failure.code) else None
        marks = " ".join(str(mark) for mark in (failure.status, code) if mark)
        detail = redact(f"{words} ({marks})" if marks else words)
        return detail if len(detail) <= MAX_DETAIL_CHARS else detail[:MAX_DETAIL_CHARS] + "..."

    def _text(self, key: str, stage: Stage, **values: object) -> str:
        try:
            return self._catalogue.text(key, stage.request.locale, **values)
        except Exception as error:  # noqa: BLE001 - better no words than no end
            stage.recorder.note(EffectFailed(effect="words", cause=redact(str(error))))
            return ""


def _say(what: str, stage: Stage, speak: Callable[[], None]) -> None:
    """Tell people; where they cannot be told, the journal is, and the caller has the result."""
    try:
        speak()
    except Exception as error:  # noqa: BLE001 - a sink's bug must not take the answer away
        stage.recorder.note(EffectFailed(effect=what, cause=redact(str(error))))
        stage.recorder.note(Said(what=what, to="journal"))
        return
    stage.recorder.note(Said(what=what, to="person"))


_WHAT = {
    TurnStatus.ERROR: "error",
    TurnStatus.TIMEOUT: "timeout",
    TurnStatus.EMPTY_RESPONSE: "empty",
}


def _said_of(finish: Finish) -> AttemptFailure | None:
    """The failure that the turn's end is said from: of the last invocation that ran, if any."""
    last = finish.last_ran
    if last is not None and not isinstance(last, Answered):
        mine = [one for one in finish.failures if one.attempt_no == last.ran.attempt_no]
        if mine:
            return mine[-1]
    return finish.failures[-1] if finish.failures else None


def _stream_result(finish: Finish, failed: AttemptFailure | None) -> StreamResult:
    results = finish.last_ran.ran.stream_results if finish.last_ran is not None else ()
    if results:
        return results[-1]
    failure: Failure | None = failed.failure if failed else None
    return StreamResult(status=finish.status, failure=failure)


def _elsewhere(stage: Stage) -> str:
    return "caller" if stage.request.hears is Audience.CALLER else "journal"


def _crash_key(error: Exception) -> str:
    return "error.store" if isinstance(error, StoreError) else "error.crash"


def _left_s(until: datetime | None, now: datetime) -> float | None:
    return None if until is None else max(0.0, (until - now).total_seconds())
