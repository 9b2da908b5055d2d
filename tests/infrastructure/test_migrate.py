"""Migrations from folders of the test's own, on a real database."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from turnkeeper.domain.errors import StoreError
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.migrate import current, migrate, pending

pytestmark = pytest.mark.postgres

MIGRATION = '''
"""A step."""

from alembic import op

revision = "{revision}"
down_revision = {after!r}


def upgrade() -> None:
    op.execute("{statement}")
'''


@pytest.fixture
def bare(database: Engine) -> Engine:
    """An engine on a database without any schema."""
    with connected(database) as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    return database


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A folder with two migrations, and with a name that settings files dislike."""
    folder = tmp_path / "100% of, the: versions"
    folder.mkdir()
    write(folder, "a1", None, "CREATE TABLE steps (name text)")
    write(folder, "b2", "a1", "INSERT INTO steps VALUES ('b2')")
    return folder


def write(folder: Path, revision: str, after: str | None, statement: str) -> None:
    migration = MIGRATION.format(revision=revision, after=after, statement=statement)
    (folder / f"{revision}.py").write_text(migration)


def steps(engine: Engine) -> list[str]:
    with connected(engine) as connection:
        return list(connection.execute(text("SELECT name FROM steps ORDER BY name")).scalars())


def test_all_that_is_missing_is_applied_in_order(bare: Engine, versions: Path) -> None:
    applied = migrate(bare, versions=versions)

    assert (applied, steps(bare)) == (("a1", "b2"), ["b2"])


def test_what_is_applied_is_not_applied_again(bare: Engine, versions: Path) -> None:
    migrate(bare, versions=versions)
    write(versions, "c3", "b2", "INSERT INTO steps VALUES ('c3')")

    assert (migrate(bare, versions=versions), steps(bare)) == (("c3",), ["b2", "c3"])


def test_what_is_missing_is_known_beforehand(bare: Engine, versions: Path) -> None:
    before = (current(bare), pending(bare, versions=versions))
    migrate(bare, versions=versions)

    after = (current(bare), pending(bare, versions=versions))

    assert (before, after) == ((None, ("a1", "b2")), ("b2", ()))


def test_a_migration_that_fails_leaves_those_before_it(bare: Engine, versions: Path) -> None:
    write(versions, "c3", "b2", "INSERT INTO steps VALUES ('c3'); SELECT nosuch()")

    with pytest.raises(StoreError, match="nosuch"):
        migrate(bare, versions=versions)

    assert (current(bare), steps(bare)) == ("b2", ["b2"])


def test_a_database_from_a_newer_version_is_left_alone(bare: Engine, versions: Path) -> None:
    migrate(bare, versions=versions)
    (versions / "b2.py").unlink()

    for look in (migrate, pending):
        with pytest.raises(StoreError, match=r"'b2'.*a newer version of turnkeeper"):
            look(bare, versions=versions)


def test_its_lock_and_its_limits_end_with_it(bare: Engine, versions: Path) -> None:
    migrate(bare, versions=versions)

    with connected(bare) as connection:
        locks = connection.execute(text("SELECT count(*) FROM pg_locks WHERE locktype='advisory'"))
        limit = connection.execute(text("SHOW statement_timeout"))
        assert (locks.scalar(), limit.scalar()) == (0, "10s")


RACER = """
import sys
from pathlib import Path
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.migrate import migrate
engine = create_engine_for(sys.argv[1], pool_size=1)
print("ready", flush=True)
sys.stdin.readline()
print(*migrate(engine, versions=Path(sys.argv[2])))
engine.dispose()
"""


def test_processes_that_migrate_at_once_do_it_once(
    bare: Engine, database_url: str, versions: Path
) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", RACER, database_url, str(versions)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()

    applied = [racer.communicate(timeout=60)[0].split() for racer in racers]

    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(applied) == [[], [], ["a1", "b2"]]
    assert steps(bare) == ["b2"]


def test_the_fixture_of_the_tests_is_up_to_date(database: Engine) -> None:
    assert pending(database) == ()


def test_each_step_is_told(bare: Engine, versions: Path) -> None:
    told: list[tuple[int, int]] = []

    migrate(bare, versions=versions, told=lambda *so_far: told.append(so_far))

    assert told == [(1, 2), (2, 2)]
