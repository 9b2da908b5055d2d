"""Tools that a model may call: how their calls are treated, and what a call came to."""

from turnkeeper.domain.conversation import Item
from turnkeeper.domain.frozen import frozen


@frozen
class ToolRules:
    """How a tool's calls are treated.

    Attributes:
        is_repeatable: It may be run again by a later invocation, so its results are not kept.
        ends_turn: A success ends the turn with what was said and done so far.
        needs_follow_up: The model is to speak after it; else a turn in which something was said
            or delivered may end there.
        once: After a success it is offered no more in the turn.
    """

    is_repeatable: bool = False
    ends_turn: bool = False
    needs_follow_up: bool = True
    once: bool = False


@frozen
class ToolDone:
    """A call succeeded.

    Attributes:
        result_json: What the model is told.
        delivered: Whether it put something into the channel that answers people.
        context: What the conversation gains; if any, the model is asked anew with it, and the
            call leaves no other trace.
        fetched: What it fetched, for the thought log, or None.
    """

    result_json: str = '{"ok":true}'
    delivered: bool = False
    context: tuple[Item, ...] = ()
    fetched: str | None = None


@frozen
class ToolFailed:
    """A call failed.

    Attributes:
        message: For the model, redacted.
        ran: Whether the tool itself was run; else nothing can have happened.
    """

    message: str
    ran: bool = True


ToolResult = ToolDone | ToolFailed
