"""Which plans Postgres has for the statements of a turn, whatever their values are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer

from benchmarks.results_file import RESULTS

FOLDER = RESULTS / "plans"
Sent = list[tuple[str, Any]]


@contextmanager
def noted() -> Iterator[Sent]:
    """Note each statement that any cursor carries out meanwhile."""
    sent: Sent = []
    execute: Callable[..., Any] = psycopg.Cursor.execute

    def noting(self: Any, query: Any, values: Any = None, **options: Any) -> Any:
        if isinstance(query, str) and values:
            sent.append((query, values))
        return execute(self, query, values, **options)

    psycopg.Cursor.execute = noting  # type: ignore[method-assign, assignment]
    try:
        yield sent
    finally:
        psycopg.Cursor.execute = execute  # type: ignore[method-assign]


def plans(url: str, sent: Sent) -> str:
    """A plan for each statement that was noted, in their order."""
    with psycopg.connect(url, autocommit=True) as connection:
        numbered = dict.fromkeys(_numbered(connection, *one) for one in sent)
        return "\n\n\n".join(_plan(connection, statement) for statement in numbered) + "\n"


def _numbered(connection: psycopg.Connection[Any], query: str, values: Any) -> str:
    """The statement as the server gets it, with $1 for a value."""
    converted = PostgresQuery(Transformer(connection))
    converted.convert(query, values)
    return " ".join(converted.query.decode().split())


def _plan(connection: psycopg.Connection[Any], statement: str) -> str:
    # Not by execute(), which would ask for the values.
    explain = f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {statement}"
    result = connection.pgconn.exec_(explain.encode())
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        raise SystemExit(f"no plan: {result.error_message.decode()} for {statement}")
    lines = [(result.get_value(n, 0) or b"").decode() for n in range(result.ntuples)]
    return "\n".join((statement, "", *(f"    {line}" for line in lines)))


def keep_plans(name: str, text: str) -> Path:
    """Write them to the results, in place of the last ones."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.txt"
    path.write_text(text)
    return path
