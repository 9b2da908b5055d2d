"""A change to each plan: a short question goes to a quick model first.

If the quick model gives no answer, the plan goes on as it was: the primary, then its fallbacks. A
transformer gets the plan as the settings make it, and returns the one that is run.
"""

from dataclasses import replace

from turnkeeper.domain.conversation import Role
from turnkeeper.domain.plan import Plan
from turnkeeper.domain.planning import renumbered
from turnkeeper.interfaces import (
    Conversation,
    Model,
    SimpleSink,
    Turnkeeper,
    TurnRequest,
    TurnResult,
)


class ProbeFirst:
    """Puts an attempt in front of the primary, with the same owner's key."""

    def __init__(self, model: Model, *, longest_chars: int = 80) -> None:
        self._model = model
        self._longest_chars = longest_chars

    def __call__(self, plan: Plan, request: TurnRequest) -> Plan:
        """The plan with the probe in front; as it was where the question is long."""
        if not plan.attempts or len(question(request)) > self._longest_chars:
            return plan
        primary = plan.attempts[0]
        probe = replace(
            primary,
            provider=self._model.provider,
            model=self._model,
            endpoint=None,
            slot=replace(primary.slot, is_lead=False),
            cause=None,
        )
        return replace(plan, attempts=renumbered((probe, *plan.attempts)))


def question(request: TurnRequest) -> str:
    """What was said last."""
    said = [item.text for item in request.conversation.items if item.role is Role.USER]
    return said[-1] if said else ""


def ask(keeper: Turnkeeper, prompt: str, *, server_id: str = "local") -> TurnResult:
    """The result; `success_model` says who answered."""
    request = TurnRequest(conversation=Conversation.of(prompt), server_id=server_id)
    return keeper.run(request, SimpleSink())


if __name__ == "__main__":
    quick = Model.named("groq:llama-3.1-8b-instant")
    with Turnkeeper.open(transformers=(ProbeFirst(quick),)) as opened:
        print(ask(opened, "What is 2 + 2?").text)
