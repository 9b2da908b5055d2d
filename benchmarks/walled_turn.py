"""One turn at a time of a turnkeeper whose only model is on the wall."""

from pathlib import Path

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.events import Entry
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnRequest, TurnResult
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("bench")
REQUEST = TurnRequest(conversation=Conversation.of("Hello"), server_id="bench", channel_id="bench")


def opened(wall: Wall, folder: Path, **settings: object) -> Turnkeeper:
    """A turnkeeper that asks the wall."""
    keeper = Turnkeeper.open(Settings(**({"data_dir": folder, "live_limits": False} | settings)))
    configure = keeper.configure
    endpoint = Endpoint(
        id=0,
        connection_id=1,
        label="model",
        base_url=wall.base_url,
        model_name="model",
        trusted=True,
    )
    saved = configure.save_endpoint(SERVER, endpoint)
    configure.add_key(SERVER, saved.provider, "sk-bench")
    configure.use_model("bench", f"endpoint:{saved.id}")
    return keeper


def journal(keeper: Turnkeeper, turn_id: str | None = None) -> tuple[TurnResult, list[Entry]]:
    """Run a turn; its result and all that happened."""
    entries: list[Entry] = []
    result = keeper.run(
        REQUEST, MemorySink(edit_interval_s=0.0), on_event=entries.append, turn_id=turn_id
    )
    return result, entries
