"""One blow to the store at a time: turns meanwhile end as they should, and the next ones answer."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which
from threading import Event

import pytest
from builders import SERVER, a_request
from chaos.script import KINDS
from chaos.store import SETTINGS, BeatenStore, beaten_store
from folders import make_passable_folder
from walled import MODELS, Walled, opened, use_both

from turnkeeper.domain.admission import QuotaRule, RefusalKind
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres

BLOWS = tuple(dict.fromkeys(kind for kind in KINDS if kind != "killed"))
PATIENCE_S = 30.0  # only ever waited out by a test that fails
THREADS = 64
PARAGRAPH = "A paragraph that is long enough to be posted by itself. " * 30 + "\n\n"
LONG = Answer(tokens=(PARAGRAPH, PARAGRAPH, "The end."))
SMALL_MB = 160


@pytest.fixture(scope="module")
def store() -> Iterator[BeatenStore]:
    with beaten_store() as made:
        yield made


@pytest.fixture(scope="module")
def wall() -> Iterator[Wall]:
    with Wall() as made:
        yield made


@pytest.fixture(scope="module")
def keeper(
    store: BeatenStore, wall: Wall, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Turnkeeper]:
    folder = tmp_path_factory.mktemp("data")
    made = opened(
        wall, folder, store="postgres", database_url=store.url, max_turns=THREADS, sweep_every_s=0
    )
    yield made
    made.close(5.0)


@pytest.fixture
def turn(keeper: Turnkeeper, wall: Wall) -> Walled:
    wall.script(Answer(text="Hello."), model=MODELS[0])
    wall.script(Answer(text="Hello."), model=MODELS[1])
    return Walled(keeper, wall)


def soon_completes(turn: Walled) -> bool:
    """Whether a turn is answered again, as soon as the store is back."""
    return any(_answers(turn) for _ in range(int(PATIENCE_S)))


def _answers(turn: Walled) -> bool:
    result = turn.run(a_request(channel_id="afterwards", user_id=None))
    if result.status is not TurnStatus.COMPLETED:
        Event().wait(1.0)
    return result.status is TurnStatus.COMPLETED


def lent(keeper: Turnkeeper) -> list[int]:
    keeper._heartbeat.flush()
    return [saved.key.health.in_flight for saved in keeper.configure.saved_keys(SERVER)]


@pytest.mark.parametrize("blow", BLOWS)
def test_a_turn_in_whose_middle_it_falls_ends_once(
    blow: str, turn: Walled, store: BeatenStore, wall: Wall
) -> None:
    reached, go_on = Event(), Event()

    def waits(seen: Seen) -> Behaviour:
        reached.set()
        go_on.wait(PATIENCE_S)
        return LONG

    wall.script(waits, model=MODELS[0])
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(turn.run, a_request(channel_id=blow))
        assert reached.wait(PATIENCE_S)
        with store.blow(blow)():
            go_on.set()
            Event().wait(0.5)
        result = run.result(PATIENCE_S)

    said, is_answered = turn.sink.channel.text, result.status is TurnStatus.COMPLETED
    assert (said.count("A paragraph"), said.endswith("The end.")) == (
        (60, True) if is_answered else (0, False)
    )
    assert len(turn.sink.errors) == (0 if is_answered else 1)
    wall.script(Answer(text="Hello."), model=MODELS[0])
    assert soon_completes(turn)


@pytest.mark.parametrize("blow", ["stopped", "crowded", "read only", "disk full"])
def test_a_turn_that_begins_meanwhile_is_told_so_and_asks_nobody(
    blow: str, turn: Walled, store: BeatenStore, wall: Wall
) -> None:
    assert soon_completes(turn)
    asked = len(wall.seen)
    with store.blow(blow)():
        result = turn.run(a_request(channel_id=f"begins {blow}"))
        asked_meanwhile = len(wall.seen) - asked

    assert (result.status, asked_meanwhile) == (TurnStatus.ERROR, 0)
    (said,) = turn.sink.channel.said("error")
    assert "cannot be reached just now" in said
    assert soon_completes(turn)


def test_a_backend_that_ends_within_a_transaction_leaves_nothing_half_done(
    turn: Walled, store: BeatenStore, keeper: Turnkeeper
) -> None:
    use_both(keeper, turn.wall, counted := Owner.server("counted"))
    keeper.configure.set_quota(counted.id, QuotaRule(enabled=True, daily_per_user=1))

    def ask(trigger: str) -> TurnResult:
        request = a_request(server_id=counted.id, user_id="ann", trigger_id=trigger)
        return Walled(keeper, turn.wall).run(request)

    store.say(
        "CREATE FUNCTION takes_long() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$",
        "CREATE TRIGGER takes_long BEFORE UPDATE ON quota_days FOR EACH ROW"
        " EXECUTE FUNCTION takes_long()",
    )
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(ask, "one")
        until_asleep(store)
        ended = store.end_backends()
        result = run.result(PATIENCE_S)
    store.say("DROP TRIGGER takes_long ON quota_days")
    assert soon_completes(turn)
    second = ask("two")

    assert (ended > 0, result.status) == (True, TurnStatus.COMPLETED)
    assert second.refusal is not None
    assert second.refusal.kind is RefusalKind.USER_QUOTA


def until_asleep(store: BeatenStore) -> None:
    with store.connect() as connection:
        for _ in range(int(PATIENCE_S * 50)):
            asleep = connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            ).fetchone()
            if asleep:
                return
            Event().wait(0.02)
    raise AssertionError("no transaction came to the trigger")


def test_sixty_four_threads_outlive_a_restart(
    keeper: Turnkeeper, store: BeatenStore, wall: Wall, turn: Walled
) -> None:
    assert soon_completes(turn)

    def run(number: int) -> TurnResult:
        request = a_request(channel_id=f"thread {number % THREADS}", user_id=None)
        return Walled(keeper, wall).run(request, MemorySink())

    with ThreadPoolExecutor(THREADS) as pool:
        runs = [pool.submit(run, number) for number in range(4 * THREADS)]
        with store.restarted():
            pass
        statuses = {one.result(PATIENCE_S * 2).status for one in runs}

    assert TurnStatus.COMPLETED in statuses <= {TurnStatus.COMPLETED, TurnStatus.ERROR}
    assert soon_completes(turn)
    store.say("UPDATE key_state SET last_leased_at = last_leased_at - interval '2 minutes'")
    store.say("UPDATE turns SET alive_until = alive_until - interval '2 minutes'")
    keeper.sweep()
    assert set(lent(keeper)) == {0}


# ── a disk that is full indeed ──────────────────────────────────────────────────────────────


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder on a file system of its own, where that may be mounted."""
    folder = make_passable_folder()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m,mode=711", "tmpfs", str(folder)]
    if not which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("no file system may be mounted here, so there is no small disk to fill")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return filler


def test_on_a_full_disk_turns_end_well_and_answer_once_there_is_room(
    small_disk: Path, wall: Wall, tmp_path: Path
) -> None:
    server = EmbeddedPostgres(small_disk, settings={**SETTINGS, "max_wal_size": "32MB"})
    url = server.start()
    try:
        wall.script(LONG, model=MODELS[0])
        with opened(wall, tmp_path, store="postgres", database_url=url, sweep_every_s=0) as keeper:
            turn = Walled(keeper, wall)
            assert turn.run().status is TurnStatus.COMPLETED
            filler = fill(small_disk)
            met = until_it_is_full(turn)
            filler.unlink()
            server.start()

            assert soon_completes(turn)
        assert "No space left" in met or "cannot be reached" in met
    finally:
        server.stop()


def until_it_is_full(turn: Walled) -> str:
    """Run turns until the store takes nothing more; says what was in the way."""
    for number in range(5000):
        result = turn.run(a_request(channel_id=f"full {number}", user_id=None))
        failed = [one.failure.message for one in result.stream_results if one.failure]
        if failed:
            return failed[0]
    raise AssertionError("the disk did not become full")
