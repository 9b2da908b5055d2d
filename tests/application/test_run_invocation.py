"""What an invocation sends where the window is known only with the key."""

from builders import a_lease, a_model, a_request, an_attempt
from fakes import FrozenClock, OneProvider, ScriptedProvider, says
from turns import Bench, a_server

from turnkeeper.application.mailbox import Mailbox
from turnkeeper.application.ports.credential_window import CredentialWindow
from turnkeeper.application.poster import Poster
from turnkeeper.application.prepare_context import PrepareContext
from turnkeeper.application.recorder import Recorder
from turnkeeper.application.run_invocation import InvocationPorts, RunInvocation
from turnkeeper.application.stage import Stage
from turnkeeper.domain.answers import Prepared
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.deadline import NEVER
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.steps import RunInvocation as Step
from turnkeeper.infrastructure.memory.sink import MemorySink

HISTORY = Conversation(
    items=tuple(
        Item.said((Role.USER, Role.MODEL)[n % 2], f"Message {n}. " + "words " * 200)
        for n in range(21)
    )
)


class SmallPlan(CredentialWindow):
    """A plan that pays for very little; remembers whom it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def window_tokens(self, key: Secret, model: str) -> int:
        self.asked.append((key.reveal(), model))
        return 3000


def sent(window: int | None, plan: SmallPlan) -> Conversation:
    """What is sent to a model of provider ``wall`` whose registered window is that."""
    provider = ScriptedProvider(alpha=says("Hello."))
    bench = Bench(provider, server=a_server("alpha"))
    sink, clock = MemorySink(), FrozenClock()
    request = a_request()
    stage = Stage(
        request=request,
        sink=sink,
        target=sink.prepare(request),
        deadline=NEVER,
        recorder=Recorder("turn", clock),
        mailbox=Mailbox(),
    )
    ports = InvocationPorts(
        providers=OneProvider(provider),
        runner=bench.runner,
        clock=clock,
        context=PrepareContext(),
        windows={"wall": plan},
    )
    run = RunInvocation(ports, limits=TimeLimits())
    prepared = Prepared(attempt_no=0, conversation=HISTORY, max_output_tokens=500)
    step = Step(attempt_no=0, lease=a_lease(), prepared=prepared)
    poster = Poster(stage=stage, ledger=bench.ledger, epoch=1)
    run(step, an_attempt(model=a_model("alpha", window=window)), stage, poster, 0)
    bench.close()
    return provider.seen[0].conversation


def test_a_plans_window_bounds_what_is_sent() -> None:
    plan = SmallPlan()

    conversation = sent(None, plan)

    assert plan.asked == [("sk-key-1", "alpha")]
    assert 0 < len(conversation.items) < len(HISTORY.items)
    assert conversation.items[-1] == HISTORY.items[-1]


def test_a_window_that_is_registered_is_not_asked_for() -> None:
    plan = SmallPlan()

    conversation = sent(100_000, plan)

    assert (plan.asked, conversation) == ([], HISTORY)
