"""turnkeeper's own turn, memory store, everything on, against the wall."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import FirstDelta
from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.outcome import Delivery, Origin
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.tools.registry import ToolRegistry
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("bench")


class TimedSink(MemorySink):
    """Notes when the first message is posted."""

    def __init__(self, first_delta: FirstDelta | None) -> None:
        super().__init__(edit_interval_s=0.5 if first_delta else None)
        self._first_delta = first_delta

    def post(self, text: str, *, target: object, origin: Origin, nonce: str) -> Delivery:
        if self._first_delta is not None:
            self._first_delta.came()
        return super().post(text, target=target, origin=origin, nonce=nonce)  # type: ignore[arg-type]


class HappyTurn:
    """A turn through the facade."""

    def __init__(
        self,
        base_url: str,
        models: tuple[str, ...],
        messages: list[dict[str, str]],
        *,
        data_dir: Path,
        tools: ToolRegistry | None = None,
        window_tokens: int | None = None,
        server_id: str = "bench",
        channel_id: str = "bench",
        sink: Callable[[], Sink] | None = None,
        **settings: object,
    ) -> None:
        opened_with = {} if tools is None else {"tools": tools}
        self._kept = Turnkeeper.open(
            Settings(**({"store": "memory", "data_dir": data_dir, "hold_chars": 0} | settings)),
            **opened_with,
        )
        configure, owner = self._kept.configure, Owner.server(server_id)
        for number, model in enumerate(models, start=1):
            endpoint = Endpoint(
                id=0,
                connection_id=number,
                label=model,
                base_url=base_url,
                model_name=model,
                trusted=True,
                num_ctx=window_tokens,
            )
            configure.save_endpoint(owner, endpoint)
            configure.add_key(owner, f"custom:{number}", f"sk-bench-{number}")
        ids = [f"endpoint:{endpoint.id}" for endpoint in configure.endpoints(owner)]
        configure.use_model(server_id, ids[0])
        configure.set_fallbacks(server_id, tuple(ids[1:]))
        self._server_id, self._channel_id = server_id, channel_id
        self._sink = sink
        self._items = tuple(Item.said(_role(m["role"]), m["content"]) for m in messages)

    def turn(self, first_delta: FirstDelta | None = None) -> str:
        """Run a turn and return the whole text. A host keeps its items, as the floor does."""
        request = TurnRequest(
            server_id=self._server_id,
            channel_id=self._channel_id,
            conversation=Conversation(items=self._items),
        )
        sink = self._sink() if self._sink is not None else TimedSink(first_delta)
        return self._kept.run(request, sink).text

    def close(self) -> None:
        self._kept.close()


def _role(name: str) -> Role:
    return {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.MODEL}[name]
