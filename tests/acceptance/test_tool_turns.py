"""Turns in which the model calls tools: scenarios 76 to 102, and effects that happen once.

A docstring that begins with a number names the scenario; "Ours" names a difference. Not here: 94
and 95, NovelAI's silent retries after text, since a tool's failure is told to its model as to any
other; 91 and 103 to 114, stickers, which are tools of a host.
"""

import json
from collections.abc import Callable
from threading import Barrier, Event

import pytest
from builders import a_model, a_request
from fakes import ScriptedProvider, ScriptedTools, calls, fails, hears, says
from turns import Bench, Benches, a_server

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.conversation import Item, Role, ToolCallPart, ToolResultPart
from turnkeeper.domain.errors import DestinationGone
from turnkeeper.domain.events import ToolRan
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import Origin, TurnStatus
from turnkeeper.domain.plan import ModelEntry
from turnkeeper.domain.policy import TimeLimits, ToolPolicy
from turnkeeper.domain.stream import FinishReason
from turnkeeper.domain.tools import ToolDone, ToolFailed, ToolResult, ToolRules
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.sink import MemorySink

ROLL = ("roll", '{"sides":6}')
FOUR = '{"rolled":4}'
BREAKS = fails(FailureKind.SERVER_ERROR)
EMPTY = says()


def gives(result: ToolResult) -> Callable[[str, ToolUse], ToolResult]:
    return lambda arguments, use: result


ROLLS = gives(ToolDone(result_json=FOUR))


@pytest.fixture
def turn(bench: Benches) -> Callable[..., Bench]:
    """A bench whose models are alpha and, if it is scripted, beta."""

    def make(tools: ScriptedTools, *, tool_s: float = 5.0, **more: object) -> Bench:
        scripts = {name: more.pop(name) for name in ("alpha", "beta") if name in more}
        provider = ScriptedProvider(**scripts)  # type: ignore[arg-type]
        rules = TurnRules(limits=TimeLimits(tool_s=tool_s, settle_s=1.0))
        return bench(
            provider,
            server=more.pop("server", a_server(*scripts)),
            clock=SystemClock(),
            tools=tools,
            rules=rules,
            **more,
        )

    return make


def history(turn: Bench, number: int) -> tuple[Item, ...]:
    """What the model was given in that provider call beyond the conversation itself."""
    asked = turn.provider.seen[number].conversation.items
    return asked[len(turn.sink.prepared[0].conversation.items) :]


def results(turn: Bench, number: int) -> list[tuple[str, object]]:
    """Names and results of the tools in that call's history."""
    return [
        (part.name, json.loads(part.result_json))
        for item in history(turn, number)
        for part in item.parts
        if isinstance(part, ToolResultPart)
    ]


class TestModelAndTools:
    def test_a_result_is_in_the_next_requests_history(self, turn: Callable[..., Bench]) -> None:
        """76."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=[calls(ROLL), says("Four.")])

        result = there.run()

        assert (result.status, result.text) == (TurnStatus.COMPLETED, "Four.")
        assert history(there, 1) == (
            Item(
                role=Role.MODEL,
                parts=(ToolCallPart(call_id="c0", name="roll", arguments_json='{"sides":6}'),),
            ),
            Item(
                role=Role.TOOL,
                parts=(ToolResultPart(call_id="c0", name="roll", result_json=FOUR),),
            ),
        )

    def test_what_a_tool_posts_is_part_of_the_answer(self, turn: Callable[..., Bench]) -> None:
        """77."""

        def paints(arguments: str, use: ToolUse) -> ToolResult:
            use.post("a picture")
            return ToolDone(delivered=True)

        there = turn(ScriptedTools(paint=paints), alpha=[calls(("paint", "{}")), EMPTY])

        result = there.run()

        assert (result.status, result.delivered_by_tool) == (TurnStatus.COMPLETED, True)
        assert there.sink.channel.said("tool") == ("a picture",)

    def test_a_failure_is_told_to_the_model(self, turn: Callable[..., Bench]) -> None:
        """78."""
        tools = ScriptedTools(roll=gives(ToolFailed(message="the dice are gone")))
        there = turn(tools, alpha=[calls(ROLL), says("No dice.")])

        there.run()

        failed = {"status": "tool_execution_failed", "reason": "the dice are gone"}
        assert results(there, 1) == [("roll", failed)]

    def test_a_tools_bug_is_a_failure_too(self, turn: Callable[..., Bench]) -> None:
        def crashes(arguments: str, use: ToolUse) -> ToolResult:
            raise RuntimeError("key sk-abcdefghijklmnop leaked")

        there = turn(ScriptedTools(roll=crashes), alpha=[calls(ROLL), says("Sorry.")])

        assert there.run().text == "Sorry."
        assert "RuntimeError" in str(results(there, 1))
        assert "sk-abcdefghijklmnop" not in str(results(there, 1))

    def test_five_failures_in_a_row_are_an_error_and_open_no_other_model(
        self, turn: Callable[..., Bench]
    ) -> None:
        """79."""
        tools = ScriptedTools(roll=gives(ToolFailed(message="no")))
        there = turn(tools, alpha=calls(ROLL), beta=says("never"))

        result = there.run()

        assert (result.status, len(tools.ran)) == (TurnStatus.ERROR, 5)
        assert [model for model, _ in there.provider.calls] == ["alpha"] * 5
        assert there.sink.channel.said("error") == (
            "No answer this time\nalpha went on calling tools without coming to an answer.",
        )

    def test_a_success_between_failures_begins_the_count_anew(
        self, turn: Callable[..., Bench]
    ) -> None:
        said = iter([False] * 4 + [True] + [False] * 4)

        def fickle(arguments: str, use: ToolUse) -> ToolResult:
            return ToolDone() if next(said) else ToolFailed(message="no")

        there = turn(ScriptedTools(roll=fickle), alpha=[calls(ROLL)] * 9 + [says("Done.")])

        assert there.run().text == "Done."

    def test_a_tool_beyond_the_turns_list_is_neither_offered_nor_run(
        self, turn: Callable[..., Bench]
    ) -> None:
        """80. Ours: it is not even offered."""
        tools = ScriptedTools(roll=ROLLS, paint=ROLLS)
        there = turn(tools, alpha=[calls(("paint", "{}")), says("Fine.")])

        there.run(a_request("Hello", only_tools=("roll",)))

        assert [tool.name for tool in there.provider.seen[0].conversation.tools] == ["roll"]
        assert tools.ran == []
        assert results(there, 1) == [
            (
                "paint",
                {
                    "status": "tool_execution_failed",
                    "reason": "'paint' cannot be called; there are: roll",
                },
            )
        ]

    def test_endless_calls_are_a_time_out_that_opens_no_other_model(
        self, turn: Callable[..., Bench]
    ) -> None:
        """81."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=calls(ROLL), beta=says("never"))

        result = there.run()

        assert result.status is TurnStatus.TIMEOUT
        assert [model for model, _ in there.provider.calls] == ["alpha"] * 100

    def test_a_call_without_a_name_is_a_failure_told_to_the_model(
        self, turn: Callable[..., Bench]
    ) -> None:
        """82. Ours: the model hears of it and may do better."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=[calls(("", "{}")), says("Oh.")])

        assert there.run().text == "Oh."

    def test_a_call_where_no_tool_was_offered_fails_over(self, turn: Callable[..., Bench]) -> None:
        there = turn(ScriptedTools(), alpha=calls(ROLL), beta=says("Hello."))

        assert there.run().text == "Hello."

    def test_people_are_told_once_that_it_takes_long(self, turn: Callable[..., Bench]) -> None:
        there = turn(
            ScriptedTools(roll=ROLLS),
            alpha=[calls(ROLL)] * 30 + [says("Done.")],
            tool_policy=ToolPolicy(still_working_at=3),
        )

        there.run()

        assert there.sink.channel.said("progress") == ("This takes a while; still working on it.",)

    def test_that_it_takes_long_is_taken_back_with_a_failed_attempt(
        self, turn: Callable[..., Bench]
    ) -> None:
        there = turn(
            ScriptedTools(roll=ROLLS),
            alpha=[calls(ROLL)] * 4 + [BREAKS],
            beta=says("Done."),
            tool_policy=ToolPolicy(still_working_at=3),
        )

        there.run()

        assert there.sink.channel.text == "Done."

    def test_a_long_result_is_cut_and_says_so(self, turn: Callable[..., Bench]) -> None:
        there = turn(
            ScriptedTools(read=gives(ToolDone(result_json=json.dumps("x" * 100)))),
            alpha=[calls(("read", "{}")), says("Read.")],
            tool_policy=ToolPolicy(max_result_chars=10),
        )

        there.run()

        assert results(there, 1) == [
            (
                "read",
                {
                    "status": "cut",
                    "note": "the result has 102 characters; this is the beginning of it",
                    "beginning": '"xxxxxxxxx',
                },
            )
        ]


class TestContext:
    NEWS = Item.said(Role.USER, "[the news of today]")

    def test_a_tool_may_add_to_the_conversation_and_leaves_no_other_trace(
        self, turn: Callable[..., Bench]
    ) -> None:
        """83, 85. It is offered no more, and a later model has the item too."""
        tools = ScriptedTools(news=gives(ToolDone(context=(self.NEWS,))), roll=ROLLS)
        there = turn(tools, alpha=[calls(("news", "{}")), BREAKS], beta=says("News."))

        there.run()

        assert history(there, 1) == (self.NEWS,)
        assert [tool.name for tool in there.provider.seen[1].conversation.tools] == ["roll"]
        assert history(there, 2) == (self.NEWS,)
        assert tools.ran == [("news", "{}")]

    def test_a_tool_for_once_is_offered_no_more(self, turn: Callable[..., Bench]) -> None:
        """96."""
        tools = ScriptedTools({"save": ToolRules(once=True)}, save=ROLLS, roll=ROLLS)
        there = turn(tools, alpha=[calls(("save", "{}")), says("Saved.")])

        there.run()

        assert [tool.name for tool in there.provider.seen[1].conversation.tools] == ["roll"]


class TestTextBesideCalls:
    def test_it_is_kept_in_the_history_and_in_the_answer(self, turn: Callable[..., Bench]) -> None:
        """86, 87, 89."""
        there = turn(
            ScriptedTools(roll=ROLLS),
            alpha=[calls(ROLL, said="I roll."), calls(ROLL, said="Again."), says("Four twice.")],
        )

        result = there.run()

        assert result.text == "I roll.\n\nAgain.\n\nFour twice."
        assert there.sink.channel.text == "I roll.\nAgain.\nFour twice."
        assert [item.text for item in history(there, 2)] == ["I roll.", "", "Again.", ""]

    def test_blank_text_is_left_out(self, turn: Callable[..., Bench]) -> None:
        """88."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=[calls(ROLL, said=" \n"), says("Four.")])

        there.run()

        assert [type(part) for part in history(there, 1)[0].parts] == [ToolCallPart]
        assert there.sink.channel.text == "Four."

    @pytest.mark.parametrize("said", ["Noted.", ""])
    def test_a_tool_that_needs_no_word_after_it_ends_what_was_said(
        self, turn: Callable[..., Bench], said: str
    ) -> None:
        """90, 93: only where something was said."""
        tools = ScriptedTools({"save": ToolRules(needs_follow_up=False)}, save=ROLLS)
        there = turn(tools, alpha=[calls(("save", "{}"), said=said), says("More.")])

        assert there.run().text == (said or "More.")

    def test_a_tool_that_needs_a_word_after_it_goes_on(self, turn: Callable[..., Bench]) -> None:
        """92."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=[calls(ROLL, said="I roll."), says("Four.")])

        assert there.run().text == "I roll.\n\nFour."

    def test_a_tool_may_end_the_turn(self, turn: Callable[..., Bench]) -> None:
        tools = ScriptedTools({"hush": ToolRules(ends_turn=True)}, hush=ROLLS)
        there = turn(tools, alpha=[calls(("hush", "{}")), says("never")])

        result = there.run()

        assert (result.status, result.text, result.delivered_by_tool) == (
            TurnStatus.COMPLETED,
            "",
            True,
        )

    def test_nothing_after_text_and_a_settled_tool_is_an_answer(
        self, turn: Callable[..., Bench]
    ) -> None:
        """102."""
        tools = ScriptedTools(
            {"save": ToolRules(needs_follow_up=False)},
            save=ROLLS,
            fail=gives(ToolFailed(message="no")),
        )
        asks = calls(("save", "{}"), ("fail", "{}"), said="Here it is.")
        there = turn(tools, alpha=[asks, calls(("save", '{"again":1}')), EMPTY])

        assert (there.run().status, there.sink.channel.text) == (
            TurnStatus.COMPLETED,
            "Here it is.",
        )


class TestArguments:
    @pytest.mark.parametrize("finish", [FinishReason.TOOL_CALLS, FinishReason.LENGTH])
    def test_those_that_were_cut_are_not_executed(
        self, turn: Callable[..., Bench], finish: FinishReason
    ) -> None:
        """99, 100: also before the list of allowed tools is looked at."""
        tools = ScriptedTools(roll=ROLLS)
        there = turn(tools, alpha=[calls(("roll", '{"sides":'), finish=finish), says("Once more.")])

        there.run()

        assert tools.ran == []
        assert "cut off" in str(results(there, 1))
        (call,) = history(there, 1)[0].parts
        assert call == ToolCallPart(call_id="c0", name="roll", arguments_json="{}")

    def test_none_at_all_are_cut_only_where_the_answer_was(
        self, turn: Callable[..., Bench]
    ) -> None:
        tools = ScriptedTools(roll=ROLLS)
        cut = calls(("roll", ""), finish=FinishReason.LENGTH)
        there = turn(tools, alpha=[cut, calls(("roll", "")), says("Done.")])

        there.run()

        assert tools.ran == [("roll", "{}")]

    def test_five_cut_ones_are_five_failures(self, turn: Callable[..., Bench]) -> None:
        """101."""
        there = turn(ScriptedTools(roll=ROLLS), alpha=calls(("roll", "{")))

        assert there.run().status is TurnStatus.ERROR
        assert len(there.provider.calls) == 5

    def test_half_a_call_behind_which_the_stream_breaks_is_not_executed(
        self, turn: Callable[..., Bench]
    ) -> None:
        tools = ScriptedTools(roll=ROLLS)

        there = turn(tools, alpha=_asks_then_breaks, beta=says("Hello."))

        assert there.run().text == "Hello."
        assert (tools.ran, history(there, -1)) == ([], ())


def _asks_then_breaks(call: object, stop: object) -> object:
    events = list(calls(ROLL)(call, stop))  # type: ignore[arg-type]
    yield from events[:-1]
    yield from BREAKS(call, stop)  # type: ignore[arg-type]


class TestSeveralCallsOfOneAnswer:
    def test_they_run_beside_each_other_and_answer_in_order(
        self, turn: Callable[..., Bench]
    ) -> None:
        together = Barrier(3, timeout=10)

        def meets(arguments: str, use: ToolUse) -> ToolResult:
            together.wait()
            return ToolDone(result_json=arguments)

        there = turn(
            ScriptedTools(meet=meets),
            alpha=[calls(*(("meet", f'{{"n":{n}}}') for n in range(3))), says("Met.")],
        )

        there.run()

        assert results(there, 1) == [("meet", {"n": n}) for n in range(3)]

    def test_equal_calls_are_all_run(self, turn: Callable[..., Bench]) -> None:
        tools = ScriptedTools(roll=ROLLS)
        there = turn(tools, alpha=[calls(ROLL, ROLL), calls(ROLL), says("Three rolls.")])

        there.run()

        assert len(tools.ran) == 3

    def test_each_has_an_idempotency_key_of_its_own(self, turn: Callable[..., Bench]) -> None:
        keys: list[str] = []

        def notes(arguments: str, use: ToolUse) -> ToolResult:
            keys.append(use.idempotency_key)
            return ToolDone()

        there = turn(ScriptedTools(note=notes), alpha=[calls(ROLL_NOTE, ROLL_NOTE), says("Ok.")])

        there.run()

        assert len(set(keys)) == 2


ROLL_NOTE = ("note", "{}")


class TestEffectsHappenOnce:
    def test_a_tool_that_ran_is_not_run_for_the_next_model(
        self, turn: Callable[..., Bench]
    ) -> None:
        tools = ScriptedTools(roll=ROLLS)
        there = turn(
            tools, alpha=[calls(ROLL), BREAKS], beta=[calls(("roll", '{ "sides": 6 }')), says("4")]
        )

        there.run()

        assert tools.ran == [ROLL]
        assert results(there, 2) == [("roll", {"rolled": 4})]
        assert [event.replayed for event in there.of("ToolRan") if isinstance(event, ToolRan)] == [
            False,
            True,
        ]

    def test_nor_for_the_next_key(self, turn: Callable[..., Bench]) -> None:
        tools = ScriptedTools(roll=ROLLS)
        there = turn(
            tools,
            alpha=[calls(ROLL), fails(FailureKind.RATE_LIMIT), calls(ROLL), says("Four.")],
            server_keys=2,
        )

        assert there.run().text == "Four."
        assert tools.ran == [ROLL]

    def test_two_rolls_stay_two(self, turn: Callable[..., Bench]) -> None:
        rolls = iter("123456789")

        def rolling(arguments: str, use: ToolUse) -> ToolResult:
            return ToolDone(result_json=next(rolls))

        there = turn(
            ScriptedTools(roll=rolling),
            alpha=[calls(ROLL, ROLL), BREAKS],
            beta=[calls(ROLL), calls(ROLL, ROLL), says("Done.")],
        )

        there.run()

        assert results(there, -1)[2:] == [("roll", 1), ("roll", 2), ("roll", 3)]

    def test_what_was_only_asked_for_leaves_no_trace(self, turn: Callable[..., Bench]) -> None:
        there = turn(
            ScriptedTools(roll=ROLLS), alpha=[_asks_then_breaks, BREAKS], beta=says("Hello.")
        )

        there.run()

        assert history(there, -1) == ()

    def test_what_is_safe_to_repeat_is_repeated(self, turn: Callable[..., Bench]) -> None:
        tools = ScriptedTools({"roll": ToolRules(is_repeatable=True)}, roll=ROLLS)
        there = turn(tools, alpha=[calls(ROLL), BREAKS], beta=[calls(ROLL), says("Four.")])

        there.run()

        assert tools.ran == [ROLL, ROLL]
        assert results(there, 2) == []

    def test_what_was_not_waited_for_may_have_happened_and_is_not_repeated(
        self, turn: Callable[..., Bench]
    ) -> None:
        go_on = Event()

        def slow(arguments: str, use: ToolUse) -> ToolResult:
            go_on.wait(30)
            return ToolDone()

        tools = ScriptedTools(send=slow)
        asks = calls(("send", "{}"))
        there = turn(tools, alpha=[asks, BREAKS], beta=[asks, says("Perhaps.")], tool_s=0.2)

        result = there.run()
        go_on.set()

        assert (result.text, tools.ran) == ("Perhaps.", [("send", "{}")])
        assert "may have happened" in str(results(there, 1))
        assert "may have happened" in str(results(there, 3))

    def test_what_is_not_waited_for_any_more_posts_nothing(
        self, turn: Callable[..., Bench]
    ) -> None:
        go_on, ended = Event(), Event()

        def posts_late(arguments: str, use: ToolUse) -> ToolResult:
            try:
                go_on.wait(30)
                use.post("too late")
            finally:
                ended.set()
            return ToolDone()

        there = turn(
            ScriptedTools(paint=posts_late),
            alpha=[calls(("paint", "{}")), says("No picture.")],
            tool_s=0.2,
        )

        there.run()
        go_on.set()

        assert ended.wait(10)
        assert there.sink.channel.text == "No picture."

    def test_what_a_tool_posted_stays_when_its_model_fails(
        self, turn: Callable[..., Bench]
    ) -> None:
        def paints(arguments: str, use: ToolUse) -> ToolResult:
            use.post("a picture")
            return ToolDone()

        there = turn(
            ScriptedTools(paint=paints),
            alpha=[calls(("paint", "{}"), said="Look:"), BREAKS],
            beta=says("There it is."),
        )

        there.run()

        assert there.sink.channel.text == "a picture\nThere it is."

    def test_a_model_without_tools_is_told_in_words(self, turn: Callable[..., Bench]) -> None:
        unable = a_model("beta", tools=False)
        there = turn(
            ScriptedTools(roll=ROLLS),
            alpha=[calls(ROLL), BREAKS],
            beta=says("Four."),
            server=a_server("alpha", chain=(ModelEntry(model=unable),)),
        )

        there.run()

        (told,) = history(there, -1)
        assert "roll" in told.text
        assert FOUR in told.text


def test_a_destination_that_a_tool_finds_gone_ends_the_turn(turn: Callable[..., Bench]) -> None:
    def gone(text: str) -> None:
        raise DestinationGone("the channel is gone", code="10003")

    def paints(arguments: str, use: ToolUse) -> ToolResult:
        use.post("a picture")
        return ToolDone()

    there = turn(
        ScriptedTools(paint=paints), alpha=[calls(("paint", "{}")), says("No")], beta=says("No")
    )

    result = there.run(sink=MemorySink(trouble=gone))

    assert (result.status, len(there.provider.calls)) == (TurnStatus.SKIPPED, 1)


class TestStops:
    def stopped(
        self, turn: Callable[..., Bench], signal: Signal, tool: Callable[[str, ToolUse], ToolResult]
    ) -> Bench:
        mailbox = Mailbox()

        def stops(arguments: str, use: ToolUse) -> ToolResult:
            mailbox.put(signal)
            return tool(arguments, use)

        there = turn(
            ScriptedTools(roll=stops),
            alpha=[calls(ROLL, said="I roll."), says("Four.")],
            beta=says("never"),
        )
        there.run(mailbox=mailbox)
        return there

    def test_while_a_tool_runs_it_ends_the_turn_and_keeps_what_was_said(
        self, turn: Callable[..., Bench]
    ) -> None:
        """98. The tool need not heed it."""
        go_on = Event()

        def heedless(arguments: str, use: ToolUse) -> ToolResult:
            go_on.wait(30)
            return ToolDone()

        there = self.stopped(turn, Signal.STOP_REQUESTED, heedless)
        go_on.set()

        assert there.sink.finalized[0].status is TurnStatus.STOPPED_BY_USER
        assert there.sink.finalized[0].text == "I roll."
        assert there.sink.channel.text == "I roll."
        assert [model for model, _ in there.provider.calls] == ["alpha"]

    def test_a_tool_is_told_of_it(self, turn: Callable[..., Bench]) -> None:
        heard = Event()

        def heeds(arguments: str, use: ToolUse) -> ToolResult:
            use.stop.on_stop(heard.set)
            assert heard.wait(10)
            raise Cancelled

        there = self.stopped(turn, Signal.STOP_REQUESTED, heeds)

        assert there.sink.finalized[0].status is TurnStatus.STOPPED_BY_USER

    def test_a_follow_up_does_not_break_a_chain_of_tools(self, turn: Callable[..., Bench]) -> None:
        """97."""
        there = self.stopped(turn, Signal.FOLLOW_UP_REQUESTED, ROLLS)

        assert there.sink.finalized[0].status is TurnStatus.COMPLETED
        assert there.sink.finalized[0].text == "I roll.\n\nFour."

    def test_a_follow_up_after_a_failed_chain_ends_the_turn(
        self, turn: Callable[..., Bench]
    ) -> None:
        mailbox = Mailbox()
        breaks = hears(mailbox, Signal.FOLLOW_UP_REQUESTED, fails(FailureKind.NETWORK, "Fo"))
        there = turn(
            ScriptedTools(roll=ROLLS), alpha=[calls(ROLL, said="I roll."), breaks], beta=says("No")
        )

        there.run(mailbox=mailbox)

        assert there.sink.finalized[0].status is TurnStatus.FOLLOW_UP_INTERRUPT
        assert [model for model, _ in there.provider.calls] == ["alpha", "alpha"]


class TestThoughts:
    def test_what_tools_fetched_is_in_the_thought_log(self, turn: Callable[..., Bench]) -> None:
        tools = ScriptedTools(read=gives(ToolDone(fetched="a page")))
        there = turn(tools, alpha=[calls(("read", "{}")), says("Read.")])

        log = there.run().thought_log

        assert log is not None
        assert (log.fetched_content, log.raw) == ("a page", None)
        assert log.generation_ms is not None

    def test_usage_and_results_are_of_all_calls(self, turn: Callable[..., Bench]) -> None:
        there = turn(ScriptedTools(roll=ROLLS), alpha=[calls(ROLL), says("Four.")])

        assert [one.status for one in there.run().stream_results] == [
            TurnStatus.FUNCTION_CALL,
            TurnStatus.COMPLETED,
        ]


def test_a_sink_that_cannot_take_back_is_spared_progress_but_gets_the_answer(
    turn: Callable[..., Bench],
) -> None:
    there = turn(
        ScriptedTools(roll=ROLLS),
        alpha=[calls(ROLL, said="I roll.")] * 3 + [says("Four.")],
        tool_policy=ToolPolicy(still_working_at=1),
    )

    there.run(sink=MemorySink(can_take_back=False))

    assert there.sink.channel.said(Origin.PROGRESS.value) == ()
    assert there.sink.channel.text == "I roll.\nI roll.\nI roll.\nFour."
