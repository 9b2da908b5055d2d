"""The embedded server with real processes: they are started, joined, forked and killed."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from folders import make_passable_folder

from turnkeeper.domain.errors import StoreUnavailable
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.postgres.postmaster import Postmaster
from turnkeeper.infrastructure.postgres.programs import Programs, wheel_folder

pytestmark = pytest.mark.postgres

ROOT = os.geteuid() == 0
FAST = {"fsync": "off"}

# Does what each line of its input says, and says when it is done.
USER = """
import os, pwd, sys
from pathlib import Path
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), settings={"fsync": "off"}, wheel=
                          Path(sys.argv[2]) if len(sys.argv) > 2 else None)
for line in sys.stdin:
    match line.strip():
        case "start": print(server.start(), flush=True)
        case "stop": server.stop(); print("stopped", flush=True)
        case "become nobody":
            nobody = pwd.getpwnam("nobody")
            os.setgroups(())
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            print("became", flush=True)
        case "fork":
            if os.fork() == 0:
                sys.exit()
            os.wait()
            print("forked", flush=True)
"""


class User:
    """Another process that uses the server of this folder."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", USER, str(folder), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def asked(self, command: str) -> str:
        self.tell(command)
        return self.hear()

    def ends(self) -> int:
        self.process.communicate(timeout=60)
        return self.process.returncode

    def is_killed(self) -> None:
        self.process.kill()
        self.ends()


@contextmanager
def user(folder: Path, *more: str) -> Iterator[User]:
    other = User(folder, *more)
    try:
        yield other
    finally:
        other.ends()


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A data folder whose database was made once; each test stops the server it starts on it."""
    folder = make_passable_folder()
    server = EmbeddedPostgres(folder, settings=FAST)
    server.start()
    server.stop()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def folder(made: Path) -> Iterator[Path]:
    """The data folder; at the end no server runs on it."""
    yield made
    assert running(made) is None


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(folder, settings=FAST)
    yield server
    server.stop()


def running(folder: Path) -> int | None:
    """Return the process id of the server on this data folder, if one runs."""
    found = Postmaster.on(folder.resolve() / "postgres" / "18")
    return found.pid if found is not None and found.lives() else None


def ask(url: str, statement: str) -> object:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return None if row is None else row[0]


def test_a_started_server_takes_200_connections(server: EmbeddedPostgres) -> None:
    assert ask(server.start(), "SHOW max_connections") == "200"


def test_it_listens_to_no_network(server: EmbeddedPostgres) -> None:
    assert ask(server.start(), "SHOW listen_addresses") == ""


def test_a_setting_of_the_caller_reaches_it(server: EmbeddedPostgres) -> None:
    assert ask(server.start(), "SHOW fsync") == "off"


def test_only_its_own_account_enters_the_folder_of_its_socket(
    server: EmbeddedPostgres, folder: Path
) -> None:
    server.start()

    (socket,) = folder.glob("**/.s.PGSQL.5432")
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


def test_starting_again_gives_the_same_server(server: EmbeddedPostgres, folder: Path) -> None:
    first = (server.start(), running(folder))

    assert (server.start(), running(folder)) == first


def test_stopping_without_a_start_does_nothing(folder: Path) -> None:
    EmbeddedPostgres(folder).stop()


def test_the_last_of_two_users_stops_it(server: EmbeddedPostgres, folder: Path) -> None:
    other = EmbeddedPostgres(folder)
    server.start()
    other.start()

    server.stop()
    in_between = running(folder)
    other.stop()

    assert in_between is not None
    assert running(folder) is None


def test_another_process_joins_it(server: EmbeddedPostgres, folder: Path) -> None:
    first = (server.start(), running(folder))

    with user(folder) as other:
        assert (other.asked("start"), running(folder)) == first


def test_processes_that_start_at_once_share_one_server(
    server: EmbeddedPostgres, folder: Path
) -> None:
    others = [User(folder) for _ in range(4)]
    for other in others:
        other.tell("start")
    urls = {other.hear() for other in others}
    assert [other.ends() for other in others] == [0, 0, 0, 0]

    assert urls == {server.start()}


def test_a_process_that_ends_stops_it_without_being_told(folder: Path) -> None:
    with user(folder) as only:
        only.asked("start")
        assert running(folder) is not None

    assert running(folder) is None


def test_a_forked_child_that_ends_does_not_stop_it(folder: Path) -> None:
    with user(folder) as parent:
        url = parent.asked("start")
        parent.asked("fork")

        assert ask(url, "SELECT 1") == 1


def test_a_killed_server_starts_again_with_its_data(server: EmbeddedPostgres, folder: Path) -> None:
    url = server.start()
    ask(url, "SELECT lo_create(4711)")
    killed = running(folder)
    assert killed is not None
    with psycopg.connect(url.replace("+psycopg", "")) as busy:
        os.kill(killed, signal.SIGKILL)
        server.start()

        with pytest.raises(psycopg.OperationalError):
            busy.execute("SELECT 1")
    assert ask(url, "SELECT lo_unlink(4711)") == 1


def test_what_a_killed_server_still_works_on_is_waited_for(
    server: EmbeddedPostgres, folder: Path
) -> None:
    url = server.start()
    killed = running(folder)
    assert killed is not None
    plain = url.replace("+psycopg", "")
    with closing(psycopg.connect(plain, options="-c statement_timeout=500")) as busy:
        busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 1000000000)")
        os.kill(killed, signal.SIGKILL)

        assert ask(server.start(), "SELECT 1") == 1


def test_a_killed_user_does_not_keep_it_running(server: EmbeddedPostgres, folder: Path) -> None:
    server.start()
    with user(folder) as other:
        other.asked("start")
        other.is_killed()

    server.stop()

    assert running(folder) is None


def test_a_server_that_a_killed_process_left_is_joined_and_stopped(
    server: EmbeddedPostgres, folder: Path
) -> None:
    with user(folder) as only:
        only.asked("start")
        left = running(folder)
        only.is_killed()

    server.start()
    joined = running(folder)
    server.stop()

    assert left is not None
    assert (joined, running(folder)) == (left, None)


def test_a_pid_file_is_not_believed_when_its_number_is_another_process_now(
    server: EmbeddedPostgres, folder: Path
) -> None:
    server.start()
    killed = running(folder)
    assert killed is not None
    files = [next(folder.glob(f"**/{n}")) for n in ("postmaster.pid", ".s.PGSQL.5432.lock")]
    process = psutil.Process(killed)
    process.kill()
    process.wait(timeout=30)
    for file in files:
        file.write_text(file.read_text().replace(str(killed), str(os.getpid()), 1))

    assert ask(server.start(), "SELECT 1") == 1


def test_a_database_that_was_half_made_is_made_anew(passable_folder: Path) -> None:
    half = passable_folder / "postgres" / "18.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    (passable_folder / "postgres").chmod(0o711)
    server = EmbeddedPostgres(passable_folder, settings=FAST)

    assert ask(server.start(), "SELECT 1") == 1

    server.stop()


def test_a_folder_with_a_long_and_odd_name_will_do(made: Path, passable_folder: Path) -> None:
    odd = passable_folder / f"it's, 100% (ä) {'long ' * 30}"
    shutil.copytree(made, odd)
    if ROOT:
        give_to(odd / "postgres" / "18", pwd.getpwnam("nobody"))
    server = EmbeddedPostgres(odd, settings=FAST)

    assert ask(server.start(), "SELECT 1") == 1

    server.stop()
    assert running(odd) is None


def test_a_name_that_no_shell_takes_is_refused(passable_folder: Path) -> None:
    with pytest.raises(StoreUnavailable, match="a dollar sign"):
        EmbeddedPostgres(passable_folder / "$HOME").start()


def test_a_file_in_the_way_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailable, match="or set TURNKEEPER_DATABASE_URL"):
        EmbeddedPostgres(tmp_path / "file").start()


def test_a_missing_wheel_is_told_with_the_way_out(passable_folder: Path) -> None:
    server = EmbeddedPostgres(passable_folder, wheel=passable_folder)

    with pytest.raises(StoreUnavailable, match="or set TURNKEEPER_DATABASE_URL"):
        server.start()


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    server = EmbeddedPostgres(folder, settings={"shared_buffers": "lots"})

    with pytest.raises(StoreUnavailable, match='invalid value for parameter "shared_buffers"'):
        server.start()


def test_who_could_not_start_it_does_not_count_as_its_user(
    server: EmbeddedPostgres, folder: Path
) -> None:
    with pytest.raises(StoreUnavailable):
        EmbeddedPostgres(folder, settings={"shared_buffers": "lots"}).start()
    server.start()

    server.stop()

    assert running(folder) is None


def give_to(folder: Path, account: pwd.struct_passwd) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def copied_wheel(folder: Path) -> Path:
    return Programs(folder=wheel_folder(), account=None).copied_to(folder).folder


needs_root = pytest.mark.skipif(not ROOT, reason="is about root, and this is an ordinary user")


@needs_root
def test_roots_server_does_not_run_as_root(server: EmbeddedPostgres, folder: Path) -> None:
    server.start()

    assert Path(f"/proc/{running(folder)}").stat().st_uid != 0


@needs_root
def test_roots_server_runs_as_the_owner_of_its_data(passable_folder: Path, made: Path) -> None:
    shutil.copytree(made, passable_folder, dirs_exist_ok=True)
    give_to(passable_folder / "postgres" / "18", pwd.getpwnam("nobody"))
    server = EmbeddedPostgres(passable_folder, settings=FAST)
    server.start()

    owner = Path(f"/proc/{running(passable_folder)}").stat().st_uid
    server.stop()

    assert owner == pwd.getpwnam("nobody").pw_uid


@needs_root
def test_roots_closed_folders_stay_closed(passable_folder: Path) -> None:
    closed = passable_folder / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(StoreUnavailable, match="Permission denied"):
        EmbeddedPostgres(closed / "data").start()

    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_programs_that_roots_account_cannot_reach_are_copied(
    folder: Path, passable_folder: Path
) -> None:
    closed = passable_folder / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedPostgres(folder, settings=FAST, wheel=copied_wheel(closed / "wheel"))

    assert ask(server.start(), "SELECT 1") == 1

    server.stop()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_an_ordinary_user_starts_it_too(passable_folder: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    home = passable_folder / "home"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    wheel = copied_wheel(passable_folder / "wheel")

    with user(home / "data", str(wheel)) as ordinary:
        ordinary.asked("become nobody")
        assert ask(ordinary.asked("start"), "SELECT current_user") == "turnkeeper"
        assert (home / "data").stat().st_uid == nobody.pw_uid

    assert running(home / "data") is None
