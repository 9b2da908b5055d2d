"""A turnkeeper on the memory store whose server asks the wall."""

from pathlib import Path

import psutil
from fakes import OneProvider, Script, ScriptedProvider

from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

SERVER = Owner.server("guild")


def ask_the_wall(keeper: Turnkeeper, base_url: str, *, model: str = "alpha", key: str) -> None:
    """Let the server's primary model be one on the wall."""
    endpoint = keeper.configure.save_endpoint(
        SERVER,
        Endpoint(
            id=0,
            connection_id=1,
            label=model,
            base_url=base_url,
            model_name=model,
            trusted=True,
        ),
    )
    keeper.configure.add_key(SERVER, endpoint.provider, key)
    keeper.configure.use_model(SERVER.id, f"endpoint:{endpoint.id}")


def scripted(folder: Path, alpha: Script, **settings: object) -> Turnkeeper:
    """A turnkeeper whose server's only model says what the script says."""
    provider = OneProvider(ScriptedProvider(alpha=alpha))
    keeper = Turnkeeper.open(
        Settings(store="memory", data_dir=folder, **settings), chat_providers=provider
    )
    keeper.configure.register_model("wall:alpha")
    keeper.configure.add_key(SERVER, "wall", "sk-of-the-wall")
    keeper.configure.use_model(SERVER.id, "wall:alpha")
    return keeper


def servers_on(folder: Path) -> list[int]:
    """The processes of a database server whose data is in the folder."""
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(str(folder) in word for word in process.info["cmdline"] or ())
    ]
