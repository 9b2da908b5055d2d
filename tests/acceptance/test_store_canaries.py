"""No key, no secret, no password and nothing that was written leaves where the store fails."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest
from canaries import (
    CANARIES,
    KEY,
    MASTER,
    WRITTEN,
    Overheard,
    WatchedHouse,
    WatchedStreet,
    leaks,
    leaks_in,
    overhearing,
    told_by,
)
from click.testing import CliRunner
from raw_server import Peer, serving
from sqlalchemy import Engine, make_url
from streets import WAYS

from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY, PATIENT, STORY
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.crashtest.breakable_store import BreakableStore, What
from turnkeeper.interfaces.crashtest.store_faults import FAULTS, MAX_CHARS, NAMES, End, StoreFault
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

PASSWORD = "kanarien-password-4c1d"
WHOLE_PASSWORD = f"{PASSWORD}@/é"
"""So that it is spelt in several ways."""
ALL = {**CANARIES, "the database's password": PASSWORD}
ANSWERED = {
    "what was answered, in several messages": STORY.whole_text[:40],
    "what was answered": FROM_PRIMARY.whole_text[:40],
}
"""Is said in the channel and to the caller, and kept nowhere."""
LASTING: Sequence[What] = [what for what in NAMES if what != "cut off"]


@pytest.fixture(scope="module")
def overheard() -> Iterator[Overheard]:
    with overhearing() as heard:
        yield heard


@pytest.fixture(scope="module")
def store(overheard: Overheard) -> Iterator[BreakableStore]:
    with BreakableStore() as store:
        # It asks for none, but whoever connects has one to keep to himself.
        store.url = make_url(store.url).set(password=WHOLE_PASSWORD).render_as_string(False)
        yield store


@dataclass(frozen=True)
class Yard:
    """A house whose store can be broken, and what looks into the store."""

    store: BreakableStore
    house: WatchedHouse
    engine: Engine
    folder: Path

    def request(self, audience: Audience = Audience.PERSON) -> TurnRequest:
        return TurnRequest(
            conversation=WRITTEN,
            server_id=self.house.server.id,
            user_id="ann",
            audience=audience,
        )

    def files(self) -> list[str]:
        """What turnkeepers and the database's log have on disk."""
        found = (*self.folder.rglob("*"), *self.store.folder.rglob("*.log*"))
        return [path.read_text(errors="replace") for path in found if path.is_file()]

    def spooled(self) -> str:
        """What waits on disk for the store."""
        return "".join(path.read_text() for path in self.folder.glob("spool/*.jsonl"))


@pytest.fixture(scope="module")
def street(
    store: BreakableStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WatchedStreet]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    folder = tmp_path_factory.mktemp("street")
    with Wall(dialects=(WAYS[0].dialect,)) as wall:
        street = WatchedStreet(WAYS[0], wall, http, folder, store.url, pool_size=4)
        yield street
        street.close()
    http.close()


@pytest.fixture
def yard(store: BreakableStore, street: WatchedStreet) -> Iterator[Yard]:
    engine = create_engine_for(store.url, pool_size=1, application_name="a look")
    yield Yard(store, WatchedHouse(street, PATIENT), engine, street._folder)
    engine.dispose()


def failing(store: BreakableStore, fault: StoreFault) -> MemorySink:
    """A channel; the store fails at once, or just before the first message."""
    todo = [partial(store.break_by, fault.what)]

    def fail(_: str) -> None:
        while todo:
            todo.pop()()

    if fault.when == "before":
        fail("")
    return MemorySink(max_chars=MAX_CHARS, trouble=fail)


# ── turns ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.what} {fault.when}")
def test_nothing_leaves_a_turn_whose_store_fails(
    yard: Yard, overheard: Overheard, fault: StoreFault
) -> None:
    house = yard.house
    house.script((STORY if fault.when == "in the middle of" else FROM_PRIMARY,))
    overheard.lines.clear()
    try:
        left = list(house.exits_at_once(yard.request(), failing(yard.store, fault)))
        spooled, files = yard.spooled(), yard.files()
    finally:
        yard.store.mend(fault.what)
    is_answered = fault.end is End.ANSWERED
    told = house.keeper.events(house.entries[0].turn_id)
    later = list(house.told_later(told if is_answered else tuple(house.entries)))

    assert leaks([*left, *later], ALL) == set()
    assert leaks([*later, *overheard.lines, *files], ALL | ANSWERED) == set()
    assert leaks([spooled, *yard.files()], ALL | ANSWERED) == set()
    assert leaks_in(yard.engine, ALL | ANSWERED) == set()
    assert house.asked == is_answered
    assert fault.what not in LASTING or bool(spooled) == is_answered
    assert overheard.lines, "nothing was overheard"


@pytest.mark.parametrize("what", LASTING)
def test_what_is_raised_to_the_caller_tells_nothing(yard: Yard, what: What) -> None:
    fault = StoreFault(id="", what=what, when="before")
    request = yard.request(Audience.CALLER)
    try:
        left = list(yard.house.exits_at_once(request, failing(yard.store, fault)))
    finally:
        yard.store.mend(what)

    assert any("TurnFailed" in found for found in left)
    assert leaks(left, ALL) == set()


# ── what stands before a database, and repeats what it was sent ─────────────────────────────


def quoting(peer: Peer) -> None:
    """Asks for a password in the clear, and quotes it as it refuses it."""
    wants_tls = (8, 80877103), (8, 80877104)
    while (size := struct.unpack("!ii", peer.source.read(8))) in wants_tls:
        peer.send(b"N")
    peer.source.read(size[0] - 8)
    peer.send(b"R", struct.pack("!ii", 8, 3))
    _, length = struct.unpack("!ci", peer.source.read(5))
    sent = peer.source.read(length - 4).rstrip(b"\0")
    said = b"SFATAL\0VFATAL\0C28P01\0M'%b' opens nothing\0D%b\0\0" % (sent, sent)
    peer.send(b"E", struct.pack("!i", len(said) + 4), said)


def test_a_server_that_repeats_the_password_is_not_repeated(
    overheard: Overheard, tmp_path: Path
) -> None:
    overheard.lines.clear()
    password = quote(WHOLE_PASSWORD, safe="")
    with serving(quoting) as server:
        url = f"postgresql://ann:{password}@{server.host}/bot"
        with pytest.raises(StoreUnavailable, match="opens nothing") as refused:
            Turnkeeper.open(Settings(data_dir=tmp_path, database_url=url))
        done = [
            CliRunner().invoke(
                program, (*line.split(), "--json"), env={"TURNKEEPER_DATABASE_URL": url}
            )
            for line in ("doctor", "migrate", "turns", "sweep")
        ]
    told = [text for one in done for text in (one.output, *_raised(one.exception))]

    assert any("opens nothing" in line for line in overheard.lines)
    assert all("opens nothing" in one.output for one in done)
    assert leaks([*told_by(refused.value), *told, *overheard.lines], ALL) == set()


# ── what is set, and what is asked ──────────────────────────────────────────────────────────

Change = Callable[[WatchedHouse], object]
CHANGES: tuple[Change, ...] = (
    lambda house: house.keeper.configure.add_key(house.server, "openrouter", f"{KEY}-new"),
    lambda house: house.keeper.configure.saved_keys(house.server),
    lambda house: house.keeper.events("no such turn"),
    lambda house: house.keeper.sweep(),
)


@pytest.mark.parametrize("what", LASTING)
def test_no_call_with_a_key_tells_it_as_it_fails(
    yard: Yard, overheard: Overheard, what: What
) -> None:
    overheard.lines.clear()
    told: list[str] = []
    yard.store.break_by(what)
    try:
        for change in CHANGES:
            try:
                change(yard.house)
            except StoreError as error:
                told += told_by(error)
    finally:
        yard.store.mend(what)

    assert told, "nothing failed"
    assert leaks([*told, *overheard.lines, *yard.files()], ALL) == set()


LINES = (
    "doctor", "doctor --json", "explain", "explain --json", "turns", "turns --json", "sweep",
    "turns --export -", "migrate", "migrate --json", "key list", "pool", "plan --server guild",
    "secrets audit", "secrets rotate", "prune",
)  # fmt: skip


@pytest.mark.parametrize("what", LASTING)
def test_no_command_prints_any(yard: Yard, overheard: Overheard, what: What) -> None:
    overheard.lines.clear()
    yard.house.run(WRITTEN)
    environ = {"TURNKEEPER_SECRET_V1": MASTER, "TURNKEEPER_DATABASE_URL": yard.store.url}
    run = partial(CliRunner().invoke, program, env=environ)
    file = run(("turns", "--limit", "5", "--export", "-")).stdout
    yard.store.break_by(what)
    try:
        done = [run(line.split()) for line in LINES]
        done += [run(("key", "add", "openrouter", "--server", "guild"), input=f"{KEY}-typed\n")]
    finally:
        yard.store.mend(what)
    replays = [run(("replay", "-"), input=file), run(("replay", "-", "--json"), input=file)]
    told = [text for one in done for text in (one.output, *_raised(one.exception))]

    assert all(one.output for one in (*done, *replays))
    assert any(one.exit_code == 1 for one in done), "no command failed"
    assert leaks([file, *told, *(one.output for one in replays), *overheard.lines], ALL) == set()


def _raised(error: BaseException | None) -> list[str]:
    return [] if error is None else list(told_by(error))


def test_nothing_that_holds_a_secret_shows_it(yard: Yard) -> None:
    keeper = yard.house.keeper
    container = keeper._container
    engine = container.engine()
    shown = (keeper, vars(keeper), container, vars(container), container.settings(), engine)
    pool = (engine.pool, vars(engine.pool), engine.url, container.engine, container.stores())

    assert leaks([*map(repr, shown + pool), *map(str, shown + pool)], ALL) == set()
