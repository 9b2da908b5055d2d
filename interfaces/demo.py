"""One rescued turn, from end to end, against a provider that fails on purpose."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

from turnkeeper.application.configure import Configure
from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.events import Entry
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import CutAfter, Refuse
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

PROMPT = "What does a lighthouse keeper do when the lamp goes out?"
PRIMARY, FALLBACK = "beacon-large", "lantern-small"
KEYS = ("demo-key-that-is-out-of-requests", "demo-key-whose-line-is-cut")
FALLBACK_KEY = "demo-key-of-the-fallback-model"
GAP_S = 0.03
CUT_AFTER_TOKENS = 40
CUT_ANSWER = (
    "First, she counts. A lamp that goes out for a breath is a draught in the stairwell; one that"
    " goes out for ten is a wick that has drowned in its own oil. So she counts to ten with one"
    " hand on the rail, and only then does she climb the last of the stairs to see which of the"
    " two it is tonight."
)
WHOLE_ANSWER = (
    "She lights the spare. Every tower keeps a second lamp, smaller and older than the first,"
    " trimmed and filled each evening for just this night. The ships see one beam falter and"
    " another take its place, and none of them has to know what went wrong in between."
)
INTRODUCTION = (
    f"The primary model {PRIMARY} has two keys: the first is out of requests (429), and the line"
    f" of the second is cut in the middle of the answer. The fallback is {FALLBACK}.",
    f"> {PROMPT}",
)


def rescued_turn(
    keeper: Turnkeeper, sink: Sink, *, on_event: Callable[[Entry], None] | None = None
) -> TurnResult:
    """Run it on a server of its own, of which only the journal is left afterwards."""
    with Wall() as wall, _server(keeper.configure, wall) as server_id:
        _script(wall)
        request = TurnRequest(
            conversation=Conversation.of(PROMPT), server_id=server_id, channel_id="demo"
        )
        return keeper.run(request, sink, on_event=on_event)


def _script(wall: Wall) -> None:
    busy = Refuse(status=429, headers=(("Retry-After", "20"),))
    cut = CutAfter(tokens=CUT_AFTER_TOKENS, then="reset", of=Answer(text=CUT_ANSWER, gap_s=GAP_S))
    wall.script(busy, model=PRIMARY, key=KEYS[0])
    wall.script(cut, model=PRIMARY, key=KEYS[1])
    wall.script(Answer(text=WHOLE_ANSWER, gap_s=GAP_S), model=FALLBACK, key=FALLBACK_KEY)


@contextmanager
def _server(configure: Configure, wall: Wall) -> Iterator[str]:
    """A server with both models and all keys; it is as empty afterwards as it was before."""
    owner = Owner.server(f"demo-{uuid4().hex[:8]}")
    with ExitStack() as afterwards:
        afterwards.callback(_empty, configure, owner)
        primary = _endpoint(configure, owner, wall, 1, PRIMARY, KEYS)
        fallback = _endpoint(configure, owner, wall, 2, FALLBACK, (FALLBACK_KEY,))
        configure.use_model(owner.id, primary)
        configure.set_fallbacks(owner.id, (fallback,))
        yield owner.id


def _empty(configure: Configure, owner: Owner) -> None:
    for saved in configure.saved_keys(owner):
        configure.remove_key(owner, saved.key.id)
    configure.reset_server(owner.id)
    for endpoint in configure.endpoints(owner):
        configure.remove_endpoint(owner, endpoint.id)


def _endpoint(
    configure: Configure,
    owner: Owner,
    wall: Wall,
    connection_id: int,
    model: str,
    keys: tuple[str, ...],
) -> str:
    endpoint = configure.save_endpoint(
        owner,
        Endpoint(
            id=0,
            connection_id=connection_id,
            label=model,
            base_url=wall.base_url,
            model_name=model,
            trusted=True,
        ),
    )
    for key in keys:
        configure.add_key(owner, endpoint.provider, key)
    return f"endpoint:{endpoint.id}"
