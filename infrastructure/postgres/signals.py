"""Signals through Postgres: a row is the truth, a notification the hint that makes it fast."""

from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import Engine

from turnkeeper.application.ports.runner import Runner
from turnkeeper.application.ports.signals import Signals
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.postgres.pipeline import Statement, run
from turnkeeper.infrastructure.postgres.signal_listener import CHANNEL, SignalListener
from turnkeeper.infrastructure.signal_order import STOPS

SEND = """
WITH running AS (
    SELECT server, turn_id FROM turns
    WHERE turn_id = %(turn_id)s AND status = 'running' AND alive_until > now()
), sent AS (
    INSERT INTO turn_signals (server, turn_id, signal, sender)
    SELECT server, turn_id, %(signal)s, %(sender)s FROM running
    ON CONFLICT (server, turn_id) DO UPDATE
    SET signal = excluded.signal, sender = excluded.sender, sent_at = now()
    WHERE excluded.signal = ANY (%(stops)s::text[])
        AND turn_signals.signal <> ALL (%(stops)s::text[])
)
SELECT EXISTS (SELECT 1 FROM running) AS is_running
"""

# By itself, since not every database that speaks like Postgres has it.
HINT = "SELECT pg_notify(%(channel)s, %(turn_id)s)"

PENDING = "SELECT signal FROM turn_signals WHERE turn_id = %(turn_id)s"

RUNNING_IN = """
SELECT turn_id FROM turns
WHERE server = %(server)s AND channel_id = %(channel_id)s AND ended_at IS NULL
    AND status = 'running' AND alive_until > now()
ORDER BY opened_at, turn_id
"""


class PostgresSignals(Signals):
    """Signals between all processes of one database. One thread a process listens for them all.

    Args:
        engine: An engine in AUTOCOMMIT.
        runner: What runs the listener.
        poll_s: How often watched turns are looked at, whatever was notified.
    """

    def __init__(self, engine: Engine, *, runner: Runner, poll_s: float = 1.0) -> None:
        self._engine = engine
        self._listener = SignalListener(engine, runner=runner, poll_s=poll_s)

    def send(self, turn_id: str, signal: Signal, *, sender: str = "system") -> bool:
        values = {
            "turn_id": turn_id,
            "signal": signal.value,
            "sender": sender,
            "stops": [stop.value for stop in STOPS],
        }
        (rows,) = run(self._engine, Statement(SEND, values))
        if not rows[0]["is_running"]:
            return False
        with suppress(StoreError):  # the listeners look by themselves, a little later
            run(self._engine, Statement(HINT, {"channel": CHANNEL, "turn_id": turn_id}))
        return True

    def pending(self, turn_id: str) -> Signal | None:
        (rows,) = run(self._engine, Statement(PENDING, {"turn_id": turn_id}))
        return Signal(rows[0]["signal"]) if rows else None

    def watch(self, turn_id: str, heard: Callable[[Signal], None]) -> Callable[[], None]:
        return self._listener.watch(turn_id, heard)

    def running_in(self, server_id: str, channel_id: str) -> tuple[str, ...]:
        values = {"server": str(Owner.server(server_id)), "channel_id": channel_id}
        (rows,) = run(self._engine, Statement(RUNNING_IN, values))
        return tuple(row["turn_id"] for row in rows)

    def close(self) -> None:
        """End the listener; watches hear nothing more."""
        self._listener.close()
