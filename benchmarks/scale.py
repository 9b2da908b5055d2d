"""``python -m benchmarks.scale``: a turn costs the same however many keys and events are kept.

On the embedded Postgres. The keys are of the turn's own pool, or of other servers; the events of
turns that are over.
"""

import statistics
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from sqlalchemy import text

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.wall_process import walled
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.postgres.engine import EngineLimits, create_engine_for

ONE_POOL = "10,000 keys in one pool"  # each lease looks at all of its pool: not flat, and known
AGAIN = "1 key, 1,000,000 events, at the end"
PATIENT = EngineLimits(statement_s=300.0, silence_s=310.0)
WITHOUT_DISK = {"fsync": "off"}  # its moods would hide what is measured
ROUNDS, TURNS, WARM_UP = 5, 120, 60
ALLOWED = 1.2

# Copies of the first key. They do not open, and are never tried: all were used more than it.
KEYS = """
INSERT INTO provider_keys (owner, provider, id, sealed, key_version, hint, fingerprint)
SELECT owner || CASE WHEN :elsewhere THEN '-' || n ELSE '' END, provider, id + n, sealed,
    key_version, 'copy', decode(md5(CAST(n AS text)), 'hex')
FROM provider_keys, generate_series(CAST(:first AS int), CAST(:last AS int)) AS n
WHERE owner = 'server:bench' AND hint <> 'copy'
"""
STATES = """
INSERT INTO key_state (owner, provider, key_id, is_main, usage_count)
SELECT owner, provider, id, FALSE, 1000000 FROM provider_keys k
WHERE NOT EXISTS (
    SELECT 1 FROM key_state s
    WHERE s.owner = k.owner AND s.provider = k.provider AND s.key_id = k.id)
"""
EVENTS = """
INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data, written_at)
SELECT 'server:' || n % 500, md5(CAST(n / 12 AS text)), n % 12, 0.5, 'KeyLeased',
    '{}',
    now() - interval '1 day'
FROM generate_series(1, 1000000) AS n
"""


def a_turn_us(ours: HappyTurn) -> float:
    """The median of many turns, of the quietest round."""
    medians = []
    for _ in range(ROUNDS):
        taken = []
        for _ in range(TURNS):
            began_s = time.perf_counter()
            ours.turn()
            taken.append(time.perf_counter() - began_s)
        medians.append(statistics.median(taken))
    return min(medians) * 1e6


def measured(folder: Path) -> Table:
    """A turn's time, each time with more in the tables."""
    table: Table = {}
    with ExitStack() as stack:
        url = stack.enter_context(walled())
        server = EmbeddedPostgres(folder, settings=WITHOUT_DISK)
        stack.callback(server.stop)
        engine = create_engine_for(server.start(), pool_size=1, limits=PATIENT)
        database = stack.enter_context(engine.connect())
        ours = stack.enter_context(
            closing(HappyTurn(url, ("answers",), messages(9), data_dir=folder, store="postgres"))
        )
        for _ in range(WARM_UP):
            ours.turn()

        def add_keys(first: int, last: int, *, elsewhere: bool = False) -> None:
            values = {"first": first, "last": last, "elsewhere": elsewhere}
            database.execute(text(KEYS), values)
            database.execute(text(STATES))
            database.execute(text("ANALYZE"))

        def note(name: str) -> None:
            table[name] = {"us": a_turn_us(ours)}
            print(f"{name:44}{table[name]['us']:10.0f}", flush=True)

        add_keys(1, 1)
        note("2 keys")
        add_keys(100_000, 110_000, elsewhere=True)
        note("2 keys, 10,000 of other servers")
        database.execute(text(EVENTS))
        for calm in ("VACUUM ANALYZE", "CHECKPOINT"):
            database.execute(text(calm))
        note("2 keys, 1,000,000 events")
        add_keys(2, 99)
        note("100 keys, 1,000,000 events")
        add_keys(100, 9_999)
        note(ONE_POOL)
        database.execute(text("DELETE FROM provider_keys WHERE hint = 'copy'"))
        database.execute(text("VACUUM ANALYZE"))
        note(AGAIN)
    return table


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a turn's cost grows."""
    print(f"{'a turn with so much in the database':44}{'wall µs':>10}")
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        Path(folder).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(folder))
    base = (table["2 keys"]["us"] + table[AGAIN]["us"]) / 2
    for name, row in table.items():
        row["ratio"] = row["us"] / base
        print(f"{name:44}{row['ratio']:10.2f} x")
    keep("scale", table, rounds=ROUNDS)
    grown = [name for name, row in table.items() if name != ONE_POOL and row["ratio"] > ALLOWED]
    if grown:
        raise SystemExit(
            f"a turn costs more than {ALLOWED:g} times as much with: {', '.join(grown)}"
        )


if __name__ == "__main__":
    main()
