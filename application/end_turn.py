"""How every turn ends: people are told, the sink is finalized, the store is settled."""

from turnkeeper.application.conclude_turn import ConcludeTurn
from turnkeeper.application.perform_step import PerformStep
from turnkeeper.application.ports.sink import Sink
from turnkeeper.application.ports.turn_store import Closing
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.settle_turn import SettleTurn
from turnkeeper.application.stage import Stage
from turnkeeper.domain.errors import StoreError, TurnFailed
from turnkeeper.domain.events import (
    CleanedUp,
    EffectFailed,
    Finalized,
    QuotaSettled,
    Said,
    TurnEnded,
)
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.finish import ERROR_LIKE, Commit, Finish, Nothing, Say, Settle
from turnkeeper.domain.frozen import maker
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import Delivery, StreamResult, TurnStatus, ids_of
from turnkeeper.domain.redact import redact
from turnkeeper.domain.result import result_of
from turnkeeper.domain.steps import TurnState
from turnkeeper.domain.turn import TurnResult

_new_closing, _new_turn_ended = maker(Closing), maker(TurnEnded)
_CLEANED_UP = CleanedUp()
_FINALIZED = {status.value: Finalized(status=status.value) for status in TurnStatus}


class EndTurn:
    """Ends turns: those that came to their end, and those that a bug or a dead store ended."""

    def __init__(self, *, conclude: ConcludeTurn, settle: SettleTurn) -> None:
        self._conclude = conclude
        self._settle = settle

    def __call__(
        self, finish: Finish, state: TurnState, stage: Stage, perform: PerformStep
    ) -> TurnResult:
        """Speak, finalize, settle, in this order.

        Raises:
            TurnFailed: Only the caller may be told; settled, and not finalized.
        """
        result = self._concluded(finish, state, stage)
        raises = finish.say is Say.RAISE
        try:
            if not raises:
                self.finalize(result, stage)
        finally:
            self._close(result, finish.settle, stage, perform, raised=raises)
        if raises:
            raise TurnFailed(_why(result), status=result.status.value)
        return result

    def catch_up(self) -> bool:
        """Write the ends of earlier turns that wait for the store; whether one was written."""
        return self._settle.is_waiting and self._settle.flush() is None

    def crashed(
        self, error: Exception, stage: Stage, perform: PerformStep | None, settle: Settle
    ) -> TurnResult:
        """The same for a turn that something thrown has ended.

        Args:
            perform: None where the turn was never opened, so that there is nothing to settle.

        Raises:
            TurnFailed: Only the caller may be told; settled, and not finalized.
        """
        result = _thrown(error, stage, perform.standing if perform is not None else ())
        try:
            self._conclude.crash(error, stage)
        except Exception as bug:  # noqa: BLE001 - the host's words must not hide the error
            stage.recorder.note(EffectFailed(effect="conclude", cause=redact(str(bug))))
        raises = stage.request.hears is Audience.CALLER
        try:
            if not raises:
                self.finalize(result, stage)
        finally:
            self._close(result, settle, stage, perform, raised=raises)
        if raises:
            raise TurnFailed(_why(result), status=result.status.value) from error
        return result

    def again(self, result: TurnResult, stage: Stage) -> TurnResult:
        """End a turn that has been run before as that run ended: nothing is said twice.

        Raises:
            TurnFailed: It failed, and only the caller may be told.
        """
        if stage.request.hears is Audience.CALLER and result.status in ERROR_LIKE:
            raise TurnFailed(_why(result), status=result.status.value)
        self.finalize(result, stage)
        return result

    def abandoned(self, stage: Stage, perform: PerformStep) -> None:
        """Settle a turn whose thread is being taken away (an interrupt, an exit)."""
        perform.give_back()
        result = TurnResult(status=TurnStatus.ERROR, turn_id=stage.turn_id)
        self._close(result, perform.release(), stage, perform, raised=True)

    def _concluded(self, finish: Finish, state: TurnState, stage: Stage) -> TurnResult:
        try:
            return self._conclude(finish, state, stage)
        except Exception as error:  # noqa: BLE001 - the host's words must not take the answer away
            stage.recorder.note(EffectFailed(effect="conclude", cause=redact(str(error))))
            if finish.status in ERROR_LIKE:
                stage.recorder.note(Said(what="error", to="journal"))
            return result_of(finish, state.plan, state.ran, stage.request, stage.turn_id)

    def finalize(self, result: TurnResult, stage: Stage) -> None:
        """Tell the sink how the turn ended, once; its trouble does not change the result."""
        stage.recorder.note(_FINALIZED[result.status._value_])
        try:
            stage.sink.finalize(result)
        except Exception as error:  # noqa: BLE001 - a host's bug must not take the answer away
            stage.recorder.note(EffectFailed(effect="finalize", cause=redact(str(error))))

    def clean_up(self, sink: Sink, recorder: Recorder) -> None:
        """Release the sink's resources, once; its trouble does not hide how the turn ended."""
        try:
            sink.cleanup()
        except Exception as error:  # noqa: BLE001 - nothing can be done about it any more
            recorder.note(EffectFailed(effect="cleanup", cause=redact(str(error))))
        recorder.note(_CLEANED_UP)
        self._settle.later(recorder.take())

    def _close(
        self,
        result: TurnResult,
        settle: Settle,
        stage: Stage,
        perform: PerformStep | None,
        *,
        raised: bool,
    ) -> None:
        _note_end(result, settle, stage, raised=raised)
        if perform is None:
            return
        request = stage.request
        closing = _new_closing(
            turn_id=stage.turn_id,
            epoch=perform.epoch,
            server=request.server,
            channel_id=request.channel_id,
            settle=settle,
            result=self._settle.kept(result),
            fates=perform.poster.fates(),
            bookings=tuple(perform.unbooked),
            entries=stage.recorder.take(),
            user_id=request.user_id,
        )
        cause = self._settle(closing)
        if cause is not None:
            stage.recorder.note(EffectFailed(effect="settle", cause=redact(cause)))


def _thrown(error: Exception, stage: Stage, standing: tuple[Delivery, ...]) -> TurnResult:
    kind = FailureKind.STORE if isinstance(error, StoreError) else FailureKind.CRASH
    message = redact(f"{type(error).__name__}: {error}")
    failure = Failure(kind=kind, message=message, rule="thrown")
    stage.recorder.note(EffectFailed(effect="turn", cause=message))
    return TurnResult(
        status=TurnStatus.ERROR,
        turn_id=stage.turn_id,
        stream_results=(StreamResult(status=TurnStatus.ERROR, failure=failure),),
        delivered=standing,
    )


def _note_end(result: TurnResult, settle: Settle, stage: Stage, *, raised: bool) -> None:
    if not isinstance(settle, Nothing):
        stage.recorder.note(
            QuotaSettled(
                trigger_key=settle.reservation.trigger_key, committed=isinstance(settle, Commit)
            )
        )
    stage.recorder.note(
        _new_turn_ended(
            status=result.status._value_,
            responses=len(result.persona_responses),
            delivered_by_tool=result.delivered_by_tool,
            kept=ids_of(result.delivered),
            success_model=result.success_model.name if result.success_model else None,
            raised=raised,
        )
    )


def _why(result: TurnResult) -> str:
    """The turn's end in a sentence, for an exception; nothing of it is secret."""
    last = result.failures[-1].failure if result.failures else None
    if last is None and result.stream_results:
        last = result.stream_results[-1].failure
    said = f": {last.kind.value}: {last.message}" if last else ""
    return f"turn {result.turn_id} ended with {result.status.value}{said}"
