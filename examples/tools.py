"""Tools: dice that fall once, whatever fails after them, and a reminder that needs no word more.

A tool that ran is not run again for another key or model of the turn; what timed out is told to
the model as "may have happened". Set it up as in `plain_function.py`.
"""

from random import randint
from typing import Annotated

from turnkeeper.interfaces import (
    Conversation,
    Settings,
    SimpleSink,
    ToolRegistry,
    ToolRules,
    ToolUse,
    Turnkeeper,
    TurnRequest,
)

tools = ToolRegistry()
reminders: dict[str, str] = {}


@tools.tool
def roll(sides: Annotated[int, "how many sides the die has"] = 6) -> int:
    """Roll a die."""
    return randint(1, sides)  # noqa: S311 - it is only a game


@tools.tool(rules=ToolRules(needs_follow_up=False))
def remind(text: str, use: ToolUse) -> str:
    """Keep a reminder for the user."""
    reminders[use.idempotency_key] = text  # the same for the same call, so it is kept once
    return "kept"


def play(keeper: Turnkeeper, prompt: str, *, server_id: str = "local") -> str:
    """The answer of a model that may roll dice and keep reminders."""
    request = TurnRequest(conversation=Conversation.of(prompt), server_id=server_id)
    return keeper.run(request, SimpleSink()).text


if __name__ == "__main__":
    with Turnkeeper.open(Settings(), tools=tools) as opened:
        print(play(opened, "Roll two dice and remind me of the sum."))
