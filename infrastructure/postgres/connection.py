"""Connections that give up instead of hanging, and that say when the server has hung up."""

import select
import time
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

Result = TypeVar("Result")


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that waits a bounded time for each answer of the server, and then closes.

    The server's own limits are of no use where the server, or the way to it, is what stands still.

    Attributes:
        answer_timeout_s: How long to wait for one answer; None waits for ever.
    """

    answer_timeout_s: float | None = None

    def wait(
        self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None
    ) -> Result:
        if timeout is not None or self.answer_timeout_s is None:
            return super().wait(gen, interval=interval, timeout=timeout)
        limit_s = time.monotonic() + self.answer_timeout_s
        try:
            return super().wait(gen, interval=interval, timeout=self.answer_timeout_s)
        except psycopg.OperationalError as error:
            if time.monotonic() < limit_s:
                raise
            # The answer may still come, and must not be taken for that of the next question.
            self.close()
            raise psycopg.OperationalError(
                f"no answer within {self.answer_timeout_s:g} s"
            ) from error


def has_hung_up(connection: psycopg.Connection[Any]) -> bool:
    """Whether an idle connection is of no use any more. Asks nobody, so it costs no round trip.

    An idle connection has nothing to read, unless the server says good-bye or is gone.
    """
    if connection.closed:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([connection.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
