"""What goes over the wire to Postgres, as the client library itself traces it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from psycopg.pq import Trace
from sqlalchemy import Engine, event


@dataclass(slots=True)
class Wire:
    """What was sent: the names of the protocol's messages, in order."""

    sent: list[str] = field(default_factory=list)

    @property
    def statements(self) -> int:
        """How many statements were carried out, `BEGIN` and `COMMIT` among them."""
        return sum(name in {"Execute", "Query"} for name in self.sent)

    @property
    def round_trips(self) -> int:
        """How often the client had to wait for what it had carried out.

        The trip that has a statement planned, the sixth time that a connection sends it, is not
        among them: it is paid once, and which call pays it depends on what came before.
        """
        waits, has_asked = 0, False
        for name in self.sent:
            has_asked = has_asked or name in {"Query", "Execute"}
            if name in {"Query", "Sync", "Flush"}:
                waits += has_asked
                has_asked = False
        return waits


@contextmanager
def traced(engine: Engine) -> Iterator[Wire]:
    """Trace what all connections of the engine send meanwhile; known at the end."""
    wire = Wire()
    with tempfile.TemporaryFile() as trace:

        def begin(connection: object, *_: object) -> None:
            connection.pgconn.trace(trace.fileno())  # type: ignore[attr-defined]
            connection.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)  # type: ignore[attr-defined]

        def end(connection: object, *_: object) -> None:
            connection.pgconn.untrace()  # type: ignore[attr-defined]

        event.listen(engine, "checkout", begin)
        event.listen(engine, "checkin", end)
        yield wire
        event.remove(engine, "checkout", begin)
        event.remove(engine, "checkin", end)
        trace.seek(0)
        lines = trace.read().decode(errors="replace").splitlines()
    words = (line.split("\t") for line in lines)
    wire.sent += [parts[2] for parts in words if parts[0] == "F" and len(parts) > 2]
