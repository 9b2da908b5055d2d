"""What a tool is given beside its arguments."""

from builders import a_delivery, a_request

from turnkeeper.application.ports.runner import Stop
from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.threads import ThreadStop


def a_use(*, request: TurnRequest | None = None, stop: Stop | None = None) -> ToolUse:
    return ToolUse(
        request=request or a_request(),
        turn_id="turn-1",
        idempotency_key="turn-1/roll/1",
        stop=stop or ThreadStop(),
        post=lambda text: a_delivery(),
    )
