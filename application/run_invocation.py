"""Runs one attempt with one key, under watch, and says what it came to."""

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from threading import Event

from turnkeeper.application.deliver_stream import DeliverStream
from turnkeeper.application.measured_provider import MeasuredProvider, is_measured
from turnkeeper.application.outlet import CLEAR_TO_POST_S, Outlet, Speak
from turnkeeper.application.ports.catalogue import Catalogue
from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.ports.providers import Providers
from turnkeeper.application.ports.runner import Cancelled, Runner, StillRunning, Stop
from turnkeeper.application.ports.tools import NoTools, Tools
from turnkeeper.application.poster import Poster
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.run_tools import Workbench
from turnkeeper.application.stage import Stage
from turnkeeper.application.tool_loop import Job, Means, ToolLoop, with_url
from turnkeeper.application.watch_invocation import ABANDONED, WatchInvocation, crashed
from turnkeeper.domain.adjust import AsIs, tokens_of
from turnkeeper.domain.answers import Prepared
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.events import EffectFailed, InvocationStarted
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen, maker, replace
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.outcome import (
    FAILED,
    Crashed,
    Delivery,
    Failed,
    Origin,
    Outcome,
    Ran,
    TimedOut,
    ToolRecord,
    ids_of,
)
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.policy import TimeLimits, ToolPolicy
from turnkeeper.domain.quotes import without_quotes
from turnkeeper.domain.steps import RunInvocation as Step
from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.tool_calls import remembered
from turnkeeper.domain.watch import Progress

_new_invocation_started = maker(InvocationStarted)
_new_deadline = maker(Deadline)
_new_job = maker(Job)
_new_chat_call = maker(ChatCall)


@frozen
class InvocationPorts:
    """What running invocations needs; shared by all turns.

    Attributes:
        windows: By provider, for those whose windows depend on the key's plan.
        tools: The tools that models may call.
        words: What people are told while it goes on; None tells them nothing.
    """

    providers: Providers
    runner: Runner
    clock: Clock
    context: PrepareContext
    windows: Mapping[str, CredentialWindow] = field(default_factory=dict)
    tools: Tools = NoTools()
    words: Catalogue | None = None


class RunInvocation:
    """Runs invocations. An invocation never speaks to people about failure: it returns it.

    Args:
        tool_policy: How far model and tools may go on with each other.
        text_rules: What is shown of an answer, and when.
    """

    def __init__(
        self,
        ports: InvocationPorts,
        *,
        limits: TimeLimits,
        tool_policy: ToolPolicy = ToolPolicy(),
        text_rules: TextRules = TextRules(),
    ) -> None:
        self._providers = ports.providers
        self._runner = ports.runner
        self._clock = ports.clock
        self._context = ports.context
        self._windows = ports.windows
        self._words = ports.words
        self._limits = limits
        self._measures = is_measured(limits)
        self._text_rules = text_rules
        bench = Workbench(
            tools=ports.tools,
            runner=ports.runner,
            clock=ports.clock,
            limit_s=limits.tool_s,
            max_result_chars=tool_policy.max_result_chars,
        )
        self._means = Means(
            clock=ports.clock,
            policy=tool_policy,
            bench=bench,
            still_working=self._say_still_working,
        )
        self._watch = WatchInvocation(runner=ports.runner, clock=ports.clock, limits=limits)

    def __call__(
        self, step: Step, attempt: Attempt, stage: Stage, poster: Poster, invocation_no: int
    ) -> Outcome:
        """Run the step. What goes wrong comes back as an outcome, not as an exception."""
        stage.recorder.note(
            _new_invocation_started(
                attempt_no=step.attempt_no,
                invocation_no=invocation_no,
                key_id=step.lease.key_id if step.lease else None,
                adjust=type(step.adjust).__name__,
                tokens=tokens_of(step.adjust),
                take_back=ids_of(step.take_back) if step.take_back else (),
                another_may_answer=step.another_may_answer,
            )
        )
        cleared = Event() if step.take_back else None
        try:
            under_way = self._set_up(step, attempt, stage, poster, invocation_no, cleared)
            work = self._watch.begun(under_way)
        except Exception as error:  # noqa: BLE001 - a plug-in's bug ends the attempt, not the turn
            return _discreet(crashed(_standing(step), error), step)
        if cleared is not None:
            self._clear_the_channel(step, poster, cleared)
        outcome = self._watch.outcome(work, under_way)
        if not outcome.ran.ended_at_s:  # most answers say themselves what is in the channel
            outcome = self._ended(outcome, under_way.job)
        return _discreet(outcome, step) if isinstance(outcome, FAILED) else outcome

    # ── setting up ──────────────────────────────────────────────────────────────────────────

    def _clear_the_channel(self, step: Step, poster: Poster, cleared: Event) -> None:
        """Take back what the invocation before had posted, beside the new request."""

        def take_back(stop: Stop | None) -> None:
            try:
                poster.take_back(step.take_back)
            finally:
                cleared.set()

        try:
            self._runner.start(take_back, "take-back")
        except Exception:  # noqa: BLE001 - no thread is left for it: it is done here
            take_back(None)

    def _set_up(
        self,
        step: Step,
        attempt: Attempt,
        stage: Stage,
        poster: Poster,
        invocation_no: int,
        cleared: Event | None,
    ) -> ToolLoop:
        """The invocation, with all that it works with."""
        provider, progress = self._providers.find(attempt.provider), Progress()
        heeds_stop = getattr(provider, "heeds_stop", False)  # of an older plug-in
        is_prompt = getattr(stage.sink, "is_prompt", False)
        beside = None if is_prompt or not heeds_stop else partial(self._beside, stage)
        outlet = Outlet(poster, invocation_no, progress, self._clock, cleared, beside)
        call = self._call(step, attempt)
        now_s = self._clock.monotonic()
        ends_s = now_s + self._limits.attempt_s
        speakers = stage.request.other_speakers
        rules = replace(self._text_rules, speakers=speakers) if speakers else self._text_rules
        holds = not stage.sink.can_take_back
        delivery = DeliverStream(outlet, stage.target, self._clock, holds, rules)
        job = _new_job(
            step=step,
            attempt=attempt,
            stage=stage,
            call=call,
            provider=self._measured(provider, progress) if self._measures else provider,
            heeds_stop=heeds_stop,
            outlet=outlet,
            progress=progress,
            began_s=now_s,
            deadline=_new_deadline(ends_s) if ends_s < stage.deadline.at_s else stage.deadline,
        )
        return ToolLoop(job, delivery, self._means)

    def _call(self, step: Step, attempt: Attempt) -> ChatCall:
        """The request: as it was prepared, but for what is known only now."""
        prepared = step.prepared
        if step.kept or not isinstance(step.adjust, AsIs):
            for change in (*step.kept, step.adjust):
                prepared = self._context.adjusted(prepared, change)
        window = self._windows.get(attempt.provider)
        if window is not None:
            prepared = self._within(window, prepared, step, attempt)
        conversation = prepared.conversation
        if step.tool_results:
            conversation = _with_results(conversation, step.tool_results)
        return _new_chat_call(
            model=self._context.model_of(attempt),
            conversation=conversation,
            sampling=attempt.sampling,
            max_output_tokens=prepared.max_output_tokens,
            endpoint=attempt.endpoint,
        )

    def _within(
        self, window: CredentialWindow, prepared: Prepared, step: Step, attempt: Attempt
    ) -> Prepared:
        """What a plan pays for is known only with the key."""
        if step.lease is None or attempt.model.limits.window_tokens:
            return prepared
        tokens = window.window_tokens(step.lease.secret, attempt.model.name)
        return self._context.within(prepared, tokens)

    def _measured(self, provider: ChatProvider, progress: Progress) -> ChatProvider:
        return MeasuredProvider(provider, progress=progress, limits=self._limits, clock=self._clock)

    # ── while it runs ───────────────────────────────────────────────────────────────────────

    def _beside(self, stage: Stage, speak: Speak, is_unwanted: Callable[[], bool]) -> Delivery:
        """Let a thread speak for the turn's own, which leaves it behind where it has to go on."""
        try:
            work = self._runner.start(lambda stop: speak(), "post")
        except Exception:  # noqa: BLE001 - no thread is left for it: it is done here
            return speak()
        while True:
            try:
                return work.result(LEAVE_S)
            except StillRunning:
                if is_unwanted():
                    cause = "a message is under way and nobody waits; it goes once it is there"
                    stage.recorder.note(EffectFailed(effect=ABANDONED, cause=cause))
                    raise Cancelled("the invocation was abandoned while it posted") from None

    def _say_still_working(self, stage: Stage, outlet: Outlet) -> None:
        """Tell people that it goes on, where they are told such things; it can be taken back."""
        if self._words is None or stage.request.hears is not Audience.PERSON:
            return
        if stage.sink.can_take_back:
            text = self._words.text("progress.still_working", stage.request.locale)
            outlet.post(text, origin=Origin.PROGRESS)

    # ── what it came to ─────────────────────────────────────────────────────────────────────

    def _ended(self, outcome: Outcome, job: Job) -> Outcome:
        """The outcome with what is in the channel; from here on nothing more can get there."""
        ran, stage = outcome.ran, job.stage
        hurries = stage.mailbox.signal is not None or stage.deadline.passed(self._clock.monotonic())
        delivered = job.outlet.seal(self._limits.settle_s if hurries else CLEAR_TO_POST_S)
        log = ran.thought_log
        ended = replace(
            ran,
            delivered=delivered,
            thought_log=with_url(log, delivered) if log is not None else None,
            ended_at_s=self._clock.monotonic(),
        )
        return replace(outcome, ran=ended)


LEAVE_S = 0.1
"""How late it may be seen that a message is not wanted any more."""


def _discreet(outcome: Failed | TimedOut | Crashed, step: Step) -> Outcome:
    """The outcome without what its failure repeats of the conversation."""
    conversation, known = step.prepared.conversation, dict[int, Failure]()

    def discreet(failure: Failure) -> Failure:
        """The failure; the call's and the invocation's are mostly the same one."""
        if id(failure) not in known:
            known[id(failure)] = without_quotes(failure, conversation)
        return known[id(failure)]

    results = tuple(
        [
            replace(result, failure=discreet(result.failure)) if result.failure else result
            for result in outcome.ran.stream_results
        ]
    )
    ran = replace(outcome.ran, stream_results=results)
    return replace(outcome, ran=ran, failure=discreet(outcome.failure))


def _standing(step: Step) -> Ran:
    """What is left where an invocation could not begin: nothing took the place of what stood."""
    return Ran(
        attempt_no=step.attempt_no,
        lease=step.lease,
        delivered=step.take_back,
        tool_results=step.tool_results,
    )


def _with_results(conversation: Conversation, done: tuple[ToolRecord, ...]) -> Conversation:
    """The conversation with the tool runs of earlier invocations."""
    known = remembered(done, with_tools=bool(conversation.tools))
    return replace(conversation, items=(*conversation.items, *known))
