"""The command line over one database, with a wall for its providers."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.tools.registry import ToolRegistry
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.owners import LOCAL
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

PROVIDER = "openrouter"


class Commands:
    """Runs commands; a traceback or a key in what one prints is an error."""

    def __init__(self, database_url: str, folder: Path, wall: Wall | None = None) -> None:
        base_urls = {PROVIDER: wall.base_url} if wall else {}
        self.settings = Settings(
            database_url=database_url, data_dir=folder, base_urls=base_urls, live_limits=False
        )
        self._before = ("--data-dir", str(folder), "--database-url", database_url)
        self._environ = {
            "TURNKEEPER_BASE_URLS": json.dumps(base_urls),
            "TURNKEEPER_LIVE_LIMITS": "false",
        }

    def __call__(self, *arguments: str, typed: str = "") -> Result:
        """The command's result, whatever it is."""
        result = CliRunner().invoke(
            program, [*self._before, *arguments], input=typed, env=self._environ
        )
        said = result.output + result.stderr
        assert result.exception is None or isinstance(result.exception, SystemExit), said
        assert "Traceback" not in said
        assert "sk-" not in said
        return result

    def done(self, *arguments: str, typed: str = "") -> Result:
        """The result of a command that must succeed."""
        result = self(*arguments, typed=typed)
        assert result.exit_code == 0, result.output + result.stderr
        return result

    def data(self, *arguments: str) -> Any:
        """What a command that must succeed prints as JSON."""
        return json.loads(self.done(*arguments, "--json").stdout)

    def refused(self, *arguments: str) -> str:
        """The one line that a command prints that must be refused."""
        result = self(*arguments)
        assert (result.exit_code, result.stdout) == (1, ""), result.output
        (line,) = result.stderr.splitlines()
        return line.removeprefix("turnkeeper: ")


class Town:
    """A server with models alpha and beta, and a user with a key, all at the wall.

    Attributes:
        patience: How many turns may be run to see that something is drawn.
    """

    def __init__(self, run: Commands, wall: Wall) -> None:
        self.run = run
        self.wall = wall
        self.patience = 4
        with Turnkeeper.open(run.settings) as keeper:
            for name in ("alpha", "beta"):
                keeper.configure.register_model(f"{PROVIDER}:{name}")
            keeper.configure.use_model(LOCAL, f"{PROVIDER}:alpha")
            keeper.configure.add_key(Owner.server(LOCAL), PROVIDER, "sk-server-0123456789")
        wall.script(Answer(text="Aye."))

    def turn(self, *options: str) -> dict[str, Any]:
        """The result of one turn, as `run --json` prints it."""
        lines = self.run("run", "Hi", *options, "--json").stdout.splitlines()
        result: dict[str, Any] = json.loads(lines[-1])["result"]
        return result

    def requests(self, *options: str) -> list[Seen]:
        """What the wall saw of one turn."""
        before = len(self.wall.seen)
        self.turn(*options)
        return list(self.wall.seen[before:])

    def asked(self, *options: str) -> list[str | None]:
        """The models that one turn asked, in order."""
        return list(dict.fromkeys(seen.model for seen in self.requests(*options)))

    def body(self, *options: str) -> dict[str, Any]:
        """The body of the last request of one turn."""
        return dict(self.requests(*options)[-1].body)

    def offered(self) -> list[str]:
        """The tools that the host's models are told of; the command line has none of its own."""
        tools = ToolRegistry()
        for name in ("lamp", "log"):
            tools.add(lambda: None, name=name, description="A tool.")
        with Turnkeeper.open(self.run.settings, tools=tools) as keeper:
            keeper.run(TurnRequest(conversation=Conversation.of("Hi")), MemorySink())
        return [tool["function"]["name"] for tool in self.wall.seen[-1].body.get("tools", [])]

    def two(self, *options: str) -> list[str]:
        """How two turns end, one after the other."""
        return [self.turn(*options)["status"] for _ in range(2)]

    def leads(self, *options: str) -> set[str | None]:
        """The models that lead, in as many turns as patience allows."""
        seen: set[str | None] = set()
        for _ in range(self.patience):
            if len(seen) < 2:
                seen.add(self.asked(*options)[0])
        return seen
