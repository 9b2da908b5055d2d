"""Runs the tools that a model asks for: together, once each, and never for longer than allowed."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock

from turnkeeper.application.outlet import Outlet
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Cancelled, Runner, Stop, Work
from turnkeeper.application.ports.tools import Tools, ToolUse
from turnkeeper.application.stage import Stage
from turnkeeper.domain.conversation import ToolCallPart
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.errors import DestinationGone
from turnkeeper.domain.events import ToolRan
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.outcome import Delivery, Origin, ToolRecord, ToolState
from turnkeeper.domain.redact import redact
from turnkeeper.domain.tool_calls import NOT_WHOLE, arguments_hash, is_whole, told, told_unknown
from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolResult, ToolRules

REFUSED = "refused"


@frozen
class ToolAnswer:
    """What the model is told of one of its calls.

    Attributes:
        call: The call.
        record: What is known of it, and what the model is told.
        rules: How the tool's calls are treated.
        fetched: What it fetched, or None.
    """

    call: ToolCallPart
    record: ToolRecord
    rules: ToolRules
    fetched: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether it succeeded, now or in an earlier invocation."""
        return self.record.state is ToolState.DONE


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class _Run:
    """One call. The tool's thread writes `record`, `result` and when, and last that it is over."""

    call: ToolCallPart
    record: ToolRecord
    rules: ToolRules
    replayed: bool = False
    result: ToolResult | None = None
    work: Work[None] | None = None
    is_over: bool = True
    began_s: float | None = None
    ended_s: float | None = None


@frozen
class Workbench:
    """What running tools needs; shared by all invocations.

    Attributes:
        limit_s: The longest that is waited for a tool.
        max_result_chars: Of a longer result the model sees the beginning.
    """

    tools: Tools
    runner: Runner
    clock: Clock
    limit_s: float
    max_result_chars: int


class RunTools:
    """Runs one invocation's tools; used by the one thread that runs the invocation.

    Args:
        deadline: By when the invocation has ended.
        known: What earlier invocations of the turn ran.
    """

    def __init__(
        self,
        *,
        bench: Workbench,
        stage: Stage,
        outlet: Outlet,
        deadline: Deadline,
        known: tuple[ToolRecord, ...],
    ) -> None:
        self._bench = bench
        self._stage = stage
        self._outlet = outlet
        self._deadline = deadline
        self._known = {(one.name, one.arguments_hash, one.nth): one for one in known}
        self._asked: Counter[tuple[str, str]] = Counter()
        self._lock = Lock()  # guards the records
        self._posting = Lock()  # lets one tool post at a time
        self._records = self._known.copy()
        self._gone: DestinationGone | None = None

    @property
    def records(self) -> tuple[ToolRecord, ...]:
        """The turn's tool runs so far; one that is under way is of unknown end."""
        with self._lock:
            return tuple(self._records.values())

    def __call__(
        self, calls: tuple[ToolCallPart, ...], *, offered: frozenset[str], was_cut: bool, stop: Stop
    ) -> tuple[ToolAnswer, ...]:
        """Run the calls of one answer beside each other; what they gave, in the calls' order.

        Args:
            offered: The tools that the model may call.
            was_cut: The answer ended for want of output.

        Raises:
            Cancelled: The stop was set; tools under way are of unknown end.
            DestinationGone: A tool posted where nobody can be reached any more.
        """
        changed = Event()
        runs: list[_Run] = []
        forget = stop.on_stop(changed.set)
        try:
            for call in calls:
                stop.check()
                runs.append(self._begun(call, offered, was_cut, changed))
            self._wait(runs, changed, stop)
            if self._gone is not None:
                raise self._gone
        finally:
            forget()
            for run in runs:
                if run.work is not None and not run.is_over:
                    run.work.abandon(0)
        return tuple(self._answer(run) for run in runs)

    # ── beginning ───────────────────────────────────────────────────────────────────────────

    def _begun(
        self, call: ToolCallPart, offered: frozenset[str], was_cut: bool, changed: Event
    ) -> _Run:
        rules = self._bench.tools.rules(call.name)
        refusal = _refusal(call, offered, was_cut)
        if refusal is not None:
            return self._refused(call, rules, refusal)
        key = (call.name, arguments_hash(call.arguments_json))
        nth = self._asked[key]
        self._asked[key] += 1
        known = self._known.get((*key, nth))
        if known is not None:
            return _Run(call=call, record=known, rules=rules, replayed=True)
        run = _Run(
            call=call,
            record=self._record(call, nth),
            rules=rules,
            is_over=False,
            began_s=self._bench.clock.monotonic(),
        )
        self._keep(run)
        try:
            work = partial(self._run, run, changed)
            run.work = self._bench.runner.start(work, f"tool-{call.name}")
        except Exception as error:  # noqa: BLE001 - no thread is left for it
            refusal = ToolFailed(message=redact(f"it could not be started: {error}"), ran=False)
            self._keep(run, refusal)
            return self._refused(call, rules, refusal)
        return run

    def _refused(self, call: ToolCallPart, rules: ToolRules, why: ToolFailed) -> _Run:
        record = self._ended(self._record(call, 0), why)
        return _Run(call=call, record=record, rules=rules, result=why)

    def _record(self, call: ToolCallPart, nth: int) -> ToolRecord:
        return ToolRecord(
            name=call.name,
            arguments_hash=arguments_hash(call.arguments_json),
            nth=nth,
            state=ToolState.UNKNOWN,
            result_json=told_unknown(),
            arguments_json=call.arguments_json or "{}",
        )

    # ── on the tool's thread ────────────────────────────────────────────────────────────────

    def _run(self, run: _Run, changed: Event, stop: Stop) -> None:
        record = run.record
        use = ToolUse(
            request=self._stage.request,
            turn_id=self._stage.turn_id,
            idempotency_key=f"{self._stage.turn_id}/{record.name}/{record.arguments_hash}/{record.nth}",
            stop=stop,
            post=partial(self._post, stop),
        )
        try:
            result = self._bench.tools.run(record.name, record.arguments_json, use)
            run.record, run.result = self._ended(record, result), result
            self._keep(run, result)
        except Cancelled:
            pass  # how far it came nobody knows
        except Exception as error:  # noqa: BLE001 - a tool's bug is a failure that the model hears of
            failed = ToolFailed(message=redact(f"{type(error).__name__}: {error}"))
            run.record, run.result = self._ended(record, failed), failed
            self._keep(run, failed)
        finally:
            run.ended_s = self._bench.clock.monotonic()
            run.is_over = True
            changed.set()

    def _post(self, stop: Stop, text: str) -> Delivery:
        with self._posting:
            stop.check()
            try:
                return self._outlet.post(text, origin=Origin.TOOL)
            except DestinationGone as error:
                self._gone = error
                raise

    def _ended(self, record: ToolRecord, result: ToolResult) -> ToolRecord:
        text = told(result, max_chars=self._bench.max_result_chars)
        if isinstance(result, ToolDone):
            return replace(
                record,
                state=ToolState.DONE,
                result_json=text,
                delivered=result.delivered,
                context=result.context,
            )
        return replace(record, state=ToolState.FAILED, result_json=text)

    def _keep(self, run: _Run, result: ToolResult | None = None) -> None:
        """Remember it for later invocations, unless it may be run again."""
        record = run.record
        key = (record.name, record.arguments_hash, record.nth)
        with self._lock:
            if run.rules.is_repeatable or (isinstance(result, ToolFailed) and not result.ran):
                self._records.pop(key, None)
            else:
                self._records[key] = record

    # ── ending ──────────────────────────────────────────────────────────────────────────────

    def _wait(self, runs: list[_Run], changed: Event, stop: Stop) -> None:
        clock = self._bench.clock
        limit = self._deadline.earlier(Deadline(clock.monotonic() + self._bench.limit_s))
        while not all(run.is_over for run in runs):
            left_s = limit.at_s - clock.monotonic()
            if left_s <= 0:
                return
            clock.wait(changed, left_s)
            changed.clear()
            stop.check()
            if self._gone is not None:
                return

    def _answer(self, run: _Run) -> ToolAnswer:
        result, record = run.result, run.record
        is_refused = isinstance(result, ToolFailed) and not result.ran
        now_s = self._bench.clock.monotonic()
        ended_s = now_s if run.ended_s is None else run.ended_s
        self._stage.recorder.note(
            ToolRan(
                invocation_no=self._outlet.invocation_no,
                name=redact(record.name[:64]),
                nth=record.nth,
                state=REFUSED if is_refused else record.state.value,
                replayed=run.replayed,
                took_s=0.0 if run.began_s is None else ended_s - run.began_s,
                ended_ago_s=now_s - ended_s,
            )
        )
        fetched = result.fetched if isinstance(result, ToolDone) else None
        return ToolAnswer(call=run.call, record=record, rules=run.rules, fetched=fetched)


def _refusal(call: ToolCallPart, offered: frozenset[str], was_cut: bool) -> ToolFailed | None:
    """Why a call is not run; None if it is."""
    if not is_whole(call.arguments_json, was_cut=was_cut):
        return ToolFailed(message=NOT_WHOLE, ran=False)
    if call.name not in offered:
        names = ", ".join(sorted(offered)) or "none"
        return ToolFailed(message=f"{call.name!r} cannot be called; there are: {names}", ran=False)
    return None
