"""Keys, master secrets and what people wrote are planted, and looked for wherever text leaves."""

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, text
from stores_in_postgres import one_database
from streets import QUESTION, SPARE, WAYS, House, Street, Way

from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.errors import TurnFailed
from turnkeeper.domain.events import Entry
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.journal_codec import entry_to_json, result_to_json
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    InBandError,
    Malformed,
    Refuse,
    Replay,
    Reset,
)
from turnkeeper.infrastructure.wall.fault import PATIENT, Fault, Steps
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.script import Step
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.parts import providers_of
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

MASTER = "kanarien-master-canary-0f9b1c7d5e3a"
# Of no form by which a key could be known: only who has it in use can tell.
KEY = "kanarie7q"
WISH = "Amelia the canary keeps her pension book beneath the third floorboard"
CANARIES = {
    "the master secret": MASTER,
    "a key": KEY,
    "what was written": "beneath the third floorboard",
    "who it was about": "Amelia the canary",
}
WRITTEN = Conversation(items=(*QUESTION.items, Item.said(Role.USER, f"{WISH}.\nTell nobody!")))

# All streets share one database.
SERVERS = count(1)

Quoting = Callable[[Seen], Behaviour]


# ── providers that repeat what they were sent ───────────────────────────────────────────────


def quote_of(seen: Seen) -> str:
    """All that a careless provider may repeat."""
    return (
        f"key {seen.key} of {seen.headers.get('authorization')} may not say '{WISH}.\nTell nobody!'"
        f" {json.dumps(WISH)} {seen.raw[:2000]!r}"
    )


def quoting(step: Step) -> Quoting:
    """The same, but it quotes the request wherever it says anything."""

    def quoted(seen: Seen) -> Behaviour:
        behaviour = step(seen) if callable(step) else step
        quote = quote_of(seen)
        match behaviour:
            case Refuse():
                headers = (*behaviour.headers, ("X-Request-Key", str(seen.key)))
                body = _quoting_body(behaviour.body, quote)
                return replace(behaviour, body=body, headers=headers)
            case Malformed():
                return replace(behaviour, payload=f"data: {quote!r}\n\n".encode())
            case InBandError():
                return replace(behaviour, message=quote)
            case Replay():
                said = b'"SAFETY", "blockReasonMessage": ' + json.dumps(quote).encode()
                return replace(behaviour, body=behaviour.body.replace(b'"SAFETY"', said))
        return behaviour

    return quoted


def _quoting_body(body: object, quote: str) -> dict[str, object]:
    error = dict(body["error"]) if isinstance(body, dict) else {}
    return {"error": {**error, "message": f"{error.get('message', '')} {quote}".strip()}}


REFUSALS = tuple(
    (f"{status} that quotes", (Refuse(status=status),)) for status in (400, 401, 402, 403, 404, 500)
)
MORE: tuple[tuple[str, Steps], ...] = (
    *REFUSALS,
    ("an error within the answer that quotes", (InBandError(status=429, after_tokens=3),)),
    ("a reset on both", (Reset(),)),
)


# ── a place where all is overheard ──────────────────────────────────────────────────────────


class Overheard(logging.Handler):
    """All log records as they would be written, with their tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


class WatchedStreet(Street):
    """A street whose turnkeepers keep all they keep in Postgres."""

    def __init__(self, way: Way, wall: Wall, http: HttpClient, folder: Path, url: str) -> None:
        super().__init__(way, wall, http, folder)
        self.url = url
        self.servers = SERVERS

    def _opened(self, limits: TimeLimits) -> Turnkeeper:
        settings = Settings(
            database_url=self.url,
            data_dir=self._folder,
            live_limits=False,
            master_secrets=MasterSecrets(current=1, by_version=((1, Secret(MASTER)),)),
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
            first_progress_s=limits.first_progress_s,
            silence_ms=int(limits.silence_s * 1000),
            settle_ms=int(limits.settle_s * 1000),
            key_wait_s=0.0,
        )
        providers = providers_of(settings, self._http, self.clock)
        providers.register(SPARE, providers.find(self.way.name))
        return Turnkeeper.open(settings, clock=self.clock, chat_providers=providers)


class WatchedHouse(House):
    """A server whose keys are canaries."""

    def _key(self, model: str) -> str:
        return f"{KEY}-{model}-{self.server.id}"

    def exits_of(self, request: TurnRequest) -> Iterator[str]:
        """Whatever leaves a turn: events, the result or what is raised, the channel."""
        entries: list[Entry] = []
        self.sink = MemorySink()
        try:
            result = self.keeper.run(request, self.sink, on_event=entries.append)
            yield from (repr(result), str(result), result_to_json(result))
            turn_id = result.turn_id
        except TurnFailed as error:
            yield from (repr(error), *traceback.format_exception(error))
            turn_id = entries[0].turn_id
        yield from (entry_to_json(entry) for entry in entries)
        yield from map(repr, entries)
        yield from (entry_to_json(entry) for entry in self.keeper.events(turn_id))
        yield from (message.text for message in self.sink.channel.messages)
        yield from map(repr, (self.sink.errors, self.sink.notices, self.sink.told))
        yield repr(self.keeper.configure.saved_keys(self.server))


@pytest.fixture(scope="module")
def overheard() -> Iterator[Overheard]:
    """All loggers at DEBUG, those of libraries too."""
    handler, root = Overheard(), logging.getLogger()
    before = {name: logging.getLogger(name).level for name in root.manager.loggerDict}
    level = root.level
    root.addHandler(handler)
    for name in ("", "urllib3.connectionpool", "sqlalchemy.engine", "sqlalchemy.pool", *before):
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)
    for name in root.manager.loggerDict:
        logging.getLogger(name).setLevel(before.get(name, logging.NOTSET))


@pytest.fixture(scope="module")
def store(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture(scope="module", params=WAYS, ids=[way.name for way in WAYS])
def street(
    request: pytest.FixtureRequest,
    overheard: Overheard,
    store: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[WatchedStreet]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    url = store.url.render_as_string(hide_password=False)
    folder = tmp_path_factory.mktemp("street")
    with Wall(dialects=(request.param.dialect,)) as wall:
        street = WatchedStreet(request.param, wall, http, folder, url)
        yield street
        street.close()
    http.close()


def stored_in(engine: Engine) -> Iterator[str]:
    """Every row of every table, as text."""
    with connected(engine) as connection:
        for name in metadata.tables:
            rows = connection.execute(text(f"SELECT t::text FROM {name} t"))
            yield from (row[0] for row in rows)


def leaks(texts: Iterator[str]) -> set[tuple[str, str]]:
    """Which canaries are in which texts."""
    return {
        (name, found[max(0, found.find(canary) - 80) :][:240])
        for found in texts
        for name, canary in CANARIES.items()
        if canary in found
    }


# ── nothing leaves ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limits", "name", "steps"),
    [
        *((fault.limits, f"{fault.id} {fault.name}", fault) for fault in FAULTS
          if isinstance(fault, Fault)),
        *((PATIENT, name, steps) for name, steps in MORE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_no_secret_and_nothing_that_was_written_leaves_a_turn_that_fails(
    street: WatchedStreet,
    store: Engine,
    overheard: Overheard,
    limits: TimeLimits,
    name: str,
    steps: Fault | Steps,
) -> None:
    met = steps.met_by_primary(street.way.family) if isinstance(steps, Fault) else steps
    house = WatchedHouse(street, limits)
    house.script(tuple(map(quoting, met)))
    overheard.lines.clear()
    request = TurnRequest(conversation=WRITTEN, server_id=house.server.id, user_id="ann")

    left = list(house.exits_of(request))

    assert leaks(iter(left)) == set()
    assert leaks(iter(overheard.lines)) == set()
    assert leaks(stored_in(store)) == set()
    assert house.calls(house.primary), "the provider was never asked"
    assert overheard.lines, "nothing was overheard"


def test_what_is_raised_to_the_caller_tells_nothing(
    street: WatchedStreet, overheard: Overheard
) -> None:
    house = WatchedHouse(street, PATIENT)
    refused = quoting(Refuse(status=401))
    house.script((refused,), (refused,))
    request = TurnRequest(conversation=WRITTEN, server_id=house.server.id, audience=Audience.CALLER)

    left = list(house.exits_of(request))

    assert any("TurnFailed" in found for found in left)
    assert leaks(iter([*left, *overheard.lines])) == set()


@pytest.mark.parametrize(
    "command",
    ["explain", "explain --json", "turns", "turns --json", "key list", "key list --json", "doctor",
     "pool", "pool --json", "plan --server guild", "plan --server guild --json",
     "secrets audit", "secrets audit --json"],
)  # fmt: skip
def test_no_command_prints_any(street: WatchedStreet, command: str) -> None:
    house = WatchedHouse(street, PATIENT)
    house.script((quoting(Refuse(status=401)),), (quoting(Refuse(status=403)),))
    house.run(WRITTEN)
    arguments = ("--database-url", street.url, *command.split())

    result = CliRunner().invoke(program, arguments, env={"TURNKEEPER_SECRET_V1": MASTER})

    assert result.exit_code == 0, result.output
    assert result.stdout
    assert leaks(iter([result.stdout, result.stderr])) == set()


def test_nothing_that_holds_a_secret_shows_it(street: WatchedStreet) -> None:
    house = WatchedHouse(street, PATIENT)
    settings = Settings(master_secrets=MasterSecrets(current=1, by_version=((1, Secret(MASTER)),)))
    shown = [settings, settings.master_secrets, house.keeper, Secret(KEY), vars(house.keeper)]

    assert leaks(iter([*map(repr, shown), *map(str, shown)])) == set()
