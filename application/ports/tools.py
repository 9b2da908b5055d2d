"""The port to the tools that a model may call."""

from collections.abc import Callable
from typing import Protocol

from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import Delivery
from turnkeeper.domain.tools import ToolFailed, ToolResult, ToolRules
from turnkeeper.domain.turn import TurnRequest


@frozen
class ToolUse:
    """What one call of a tool is given beside its arguments.

    Attributes:
        request: The turn that it is called in.
        turn_id: The id under which the turn is journalled.
        idempotency_key: The same for the same call of the turn, whichever model asks for it.
        stop: Set once nobody waits for the tool any more.
        post: Posts a message that stays when the model fails.
    """

    request: TurnRequest
    turn_id: str
    idempotency_key: str
    stop: Stop
    post: Callable[[str], Delivery]


class Tools(Protocol):
    """All tools of an installation, by name. Safe to use from several threads."""

    def offered(self, request: TurnRequest) -> tuple[ToolSpec, ...]:
        """The tools that a turn's model may call, in the order in which they are offered."""
        ...

    def rules(self, name: str) -> ToolRules:
        """How the tool's calls are treated; of a tool that is not known, as the strictest."""
        ...

    def run(self, name: str, arguments_json: str, use: ToolUse) -> ToolResult:
        """Check the arguments against the tool's schema and run it, in this thread.

        What the tool raises is a failure, not an exception.

        Args:
            arguments_json: As the model wrote them; empty is no arguments.

        Raises:
            Cancelled: The tool heeded its stop.
        """
        ...


class NoTools(Tools):
    """An installation without tools."""

    def offered(self, request: TurnRequest) -> tuple[ToolSpec, ...]:
        return ()

    def rules(self, name: str) -> ToolRules:
        return ToolRules()

    def run(self, name: str, arguments_json: str, use: ToolUse) -> ToolResult:
        return ToolFailed(message=f"there is no tool {name!r} here", ran=False)
