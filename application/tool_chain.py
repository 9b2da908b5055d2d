"""The provider calls of one invocation that asked for tools, and what came of them."""

from turnkeeper.application.heard import Heard
from turnkeeper.application.ports.chat_provider import ChatCall
from turnkeeper.application.run_tools import RunTools, ToolAnswer
from turnkeeper.domain.conversation import Item
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.outcome import StreamResult, TurnStatus
from turnkeeper.domain.tool_calls import exchange


class ToolChain:
    """Made once the model asks for a tool. Filled by one thread; others may look at it.

    Args:
        run: Runs the tools.

    Attributes:
        heard: The calls, in order.
        results: How each of them ended.
        failures: How many tools failed, in a row.
        fetched: What the tools fetched.
    """

    def __init__(self, run: RunTools) -> None:
        self.run = run
        self.heard: list[Heard] = []
        self.results: list[StreamResult] = []
        self.failures = 0
        self.fetched: list[str] = []
        self._said_chars = 0  # of the visible text
        self._history: tuple[Item, ...] = ()
        self._spent: frozenset[str] = frozenset()  # tools that are offered no more

    def calls_to(self, heard: Heard) -> list[Heard]:
        """The calls up to this one, which is the last or under way."""
        return [*self.heard[: heard.number], heard]

    def offered(self, call: ChatCall) -> frozenset[str]:
        """The tools that the model may call."""
        return frozenset(tool.name for tool in call.conversation.tools) - self._spent

    def next_call(self, call: ChatCall) -> ChatCall:
        """The next request, from the first."""
        before = call.conversation
        tools = tuple(tool for tool in before.tools if tool.name not in self._spent)
        conversation = replace(before, items=(*before.items, *self._history), tools=tools)
        return replace(call, conversation=conversation)

    def said_last(self, shown: str) -> str:
        """What of the visible text was said since the last of them."""
        return shown[self._said_chars :].strip()

    def keep(self, heard: Heard, shown: str) -> str:
        """Note a call that asks for tools, and return what it said before that.

        Args:
            shown: All visible text so far.
        """
        said = self.said_last(shown)
        self.heard.append(heard)
        self.results.append(heard.result(TurnStatus.FUNCTION_CALL, said))
        self._said_chars = len(shown)
        return said

    def note(self, said: str, heard: Heard, answers: tuple[ToolAnswer, ...]) -> None:
        """Note what came of its tools, for the model to be told."""
        plain = [one for one in answers if not one.record.context]
        self._history += exchange(
            said, heard.reasoning, [(one.call, one.record.result_json) for one in plain]
        )
        for one in answers:
            self._note(one)

    def _note(self, answer: ToolAnswer) -> None:
        self.failures = 0 if answer.is_done else self.failures + 1
        self._history += answer.record.context
        if answer.fetched:
            self.fetched.append(answer.fetched)
        if answer.is_done and (answer.rules.once or answer.record.context):
            self._spent |= {answer.record.name}
