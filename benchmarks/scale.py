"""``python -m benchmarks.scale [EVENTS]``: a turn costs the same however much is kept.

Two databases of one embedded Postgres: a small one, and one that grows. Turns on both are measured
in turn, so that whatever else the machine does is on both sides. The plans of a turn's statements
on the large one are written to `results/plans`.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import Connection, make_url

from benchmarks.happy_turn import HappyTurn
from benchmarks.large_tables import add_events, add_keys, add_owners, rest_keys, settle
from benchmarks.plans import keep_plans, noted, plans
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import paired
from benchmarks.wall_process import walled
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.master_secrets import local_secret
from turnkeeper.infrastructure.postgres.engine import EngineLimits, create_engine_for
from turnkeeper.infrastructure.vault import AesGcmVault

PATIENT = EngineLimits(statement_s=3600.0, silence_s=3610.0)
# The disk's and the cleaner's moods would hide what is measured.
CALM = {"fsync": "off", "autovacuum": "off", "max_wal_size": "8GB"}
POOL = "custom:1"
OWNERS, EVENTS = 1_000_000, 1_000_000
FALLBACKS = (1, 10, 50)
ROUNDS, TURNS, WARM_UP = 7, 60, 60
ALLOWED = 1.2


def measured(folder: Path, events: int) -> Table:
    """How many times a turn on the small database one on the large takes, each time larger."""
    table: Table = {}
    with ExitStack() as stack:
        url = stack.enter_context(walled())
        server = EmbeddedPostgres(folder, settings=CALM)
        stack.callback(server.stop)
        small_url = server.start()
        large_url = _database(small_url, "large")
        small, large = (
            stack.enter_context(closing(_on(one, url, folder))) for one in (small_url, large_url)
        )
        database, beside = (stack.enter_context(_connected(one)) for one in (large_url, small_url))
        vault = AesGcmVault(local_secret(folder))

        def note(name: str, grow: Callable[[], None]) -> None:
            began_s = time.perf_counter()
            grow()
            for one in (database, beside):
                settle(one)
            grown_s = time.perf_counter() - began_s
            for _ in range(WARM_UP):
                small.turn(), large.turn()
            table[name] = paired(small.turn, large.turn, rounds=ROUNDS, turns=TURNS)
            _say(name, table[name], f"grown in {grown_s:.0f} s")

        note("the same", lambda: None)
        note(f"{OWNERS:,} servers", lambda: add_owners(database, OWNERS))
        note(f"and {events:,} events", lambda: add_events(database, events))
        note("and 100 keys in the pool", lambda: add_keys(database, vault, POOL, _ids(2, 100)))
        note("and 10,000 keys in it", lambda: add_keys(database, vault, POOL, _ids(100, 10_000)))
        _keep_plans(large, large_url)
        note("5,000 of which rest", lambda: rest_keys(database, _ids(5_000, 10_000)))
    return table


def with_fallbacks(folder: Path) -> Table:
    """How many times a turn with one fallback one with more takes; the primary answers."""
    table: Table = {}
    with walled() as url, closing(_in_memory(1, url, folder)) as few:
        for many in FALLBACKS:
            with closing(_in_memory(many, url, folder)) as more:
                for _ in range(WARM_UP):
                    few.turn(), more.turn()
                name = f"{many} fallback{'s' if many > 1 else ''}, memory store"
                table[name] = paired(few.turn, more.turn, rounds=ROUNDS, turns=TURNS)
                _say(name, table[name])
    return table


def _ids(first: int, last: int) -> range:
    return range(10_000_000 + first, 10_000_000 + last)


def _database(url: str, name: str) -> str:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return make_url(url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = create_engine_for(url, pool_size=1, limits=PATIENT)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def _on(database_url: str, url: str, folder: Path) -> HappyTurn:
    return HappyTurn(
        url,
        ("answers",),
        messages(9),
        data_dir=folder,
        store="postgres",
        database_url=database_url,
    )


def _in_memory(fallbacks: int, url: str, folder: Path) -> HappyTurn:
    return HappyTurn(url, ("answers",) * (1 + fallbacks), messages(9), data_dir=folder)


def _keep_plans(large: HappyTurn, url: str) -> None:
    with noted() as sent:
        large.turn()
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    keep_plans("turn", plans(plain, sent))


def _say(name: str, row: dict[str, float], more: str = "") -> None:
    print(
        f"{name:32}{row['small_us']:10.0f}{row['large_us']:10.0f}{row['ratio']:8.2f}"
        f"   {row['least']:.2f}-{row['most']:.2f}  {more}"
    )
    sys.stdout.flush()


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a turn's cost grows."""
    events = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else EVENTS
    print(f"{'a turn with more':32}{'small µs':>10}{'large µs':>10}{'×':>8}")
    os.environ.pop("TURNKEEPER_DATABASE_URL", None)
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        Path(folder).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(folder), events)
        grown = [name for name, row in table.items() if row["ratio"] > ALLOWED]
        keep("scale", table | with_fallbacks(Path(folder)), rounds=ROUNDS)
    if grown:
        raise SystemExit(
            f"a turn costs more than {ALLOWED:g} times as much with: {', '.join(grown)}"
        )


if __name__ == "__main__":
    main()
