"""``python -m benchmarks.wire``: connections, and how soon what came in is given out.

A new HTTPS connection beside that of `requests`; how long an event is held back in a body of chunks
and in one that ends with its connection; how the time for a large event grows with its size; and
what a turn adds to the time to the first text.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import requests
from sseclient import SSEClient

from benchmarks.happy_turn import HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import FirstDelta, side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled
from benchmarks.wire_process import Served, wire_served
from turnkeeper.infrastructure.http import HttpClient, HttpRequest
from turnkeeper.infrastructure.sse import SseReader, in_words
from turnkeeper.infrastructure.threads import ThreadStop

ROUNDS = 7
CONNECTIONS, LARGE, FIRST_DELTAS = 20, 3, 60
TWO_MIB_BYTES = 4 << 20  # more than the largest event here
WAIT_S = 30.0
OURS, THEIRS = "turnkeeper", "requests"
ALLOWED = {
    "a new HTTPS connection": 0.15,
    "an event of 2 MiB to one of 1 MiB": 2.5,
    "ms an event is held back, chunked": 5.0,
    "ms an event is held back, unchunked": 5.0,
    "ms added to the first text": 1.0,
}


class Reader:
    """Reads events as a turn does, without the turn."""

    def __init__(self, served: Served) -> None:
        self._client = HttpClient(user_agent="benchmark", verify=str(served.certificates))

    def events(self, url: str, seen: Callable[[str], object]) -> None:
        """Hand over the data of each event once it is there."""
        request = HttpRequest(url=url)
        stop = ThreadStop()
        with self._client.post_stream(request, stop=stop, read_timeout_s=WAIT_S) as reply:
            reader = SseReader(max_event_bytes=TWO_MIB_BYTES)
            for piece in reply.chunks():
                for event in reader.feed(piece):
                    seen(in_words(event).data)

    def close(self) -> None:
        self._client.close()


class PlainRequests:
    """What `requests` and `sseclient-py` do when nothing is said to them."""

    def __init__(self, served: Served) -> None:
        self._session = requests.Session()
        self._certificates = str(served.certificates)

    def events(self, url: str, seen: Callable[[str], object]) -> None:
        verify = self._certificates  # with each call: the session's gives way to the environment
        with self._session.post(url, stream=True, timeout=WAIT_S, verify=verify) as reply:
            for event in SSEClient(reply).events():  # type: ignore[arg-type]
                seen(event.data)

    def close(self) -> None:
        self._session.close()


Client = Reader | PlainRequests


def connection_row(clients: dict[str, Client], served: Served) -> dict[str, float]:
    """A new HTTPS connection with one small reply."""
    url = f"{served.https}/short"
    ways: dict[str, Callable[[], object]] = {
        who: lambda client=client: client.events(url, len)  # type: ignore[misc]
        for who, client in clients.items()
    }
    for way in ways.values():
        way()
    seen = side_by_side(ways, rounds=ROUNDS, turns=CONNECTIONS)
    ours, theirs = seen[OURS].wall_s, seen[THEIRS].wall_s
    return {"floor": theirs * 1e3, "ours": ours * 1e3, "is": ours / theirs}


def held_back_row(clients: dict[str, Client], url: str) -> dict[str, float]:
    """The median and the 95th percentile of how late events were, in ms."""
    late: dict[str, list[float]] = {who: [] for who in clients}
    for _ in range(ROUNDS):
        for who, client in clients.items():

            def seen(data: str, late: list[float] = late[who]) -> None:
                late.append((time.monotonic_ns() - int(data)) / 1e6)

            client.events(url, seen)
    ours, theirs = sorted(late[OURS]), statistics.median(late[THEIRS])
    return {
        "floor": theirs,
        "ours": statistics.median(ours),
        "is": ours[int(0.95 * (len(ours) - 1))],
    }


def large_event_row(clients: dict[str, Client], served: Served) -> dict[str, float]:
    """How many times the CPU of an event of 1 MiB one of 2 MiB takes; in chunks of 128 bytes."""
    ratios = {}
    for who, client in clients.items():
        rounds = ROUNDS if who == OURS else 1
        ways: dict[str, Callable[[], object]] = {
            str(mib): lambda mib=mib, client=client: client.events(  # type: ignore[misc]
                f"{served.http}/large/{mib}", len
            )
            for mib in (1, 2)
        }
        seen = side_by_side(ways, rounds=rounds, turns=LARGE if who == OURS else 1)
        ratios[who] = seen["2"].cpu_s / seen["1"].cpu_s
    return {"floor": ratios[THEIRS], "ours": ratios[OURS], "is": ratios[OURS]}


def first_delta_row(folder: Path) -> dict[str, float]:
    """Medians of the time to the first text of a reply whose tokens are 20 ms apart, in ms."""
    seen: dict[str, list[float]] = {"floor": [], "ours": []}
    said = messages(9)
    with (
        walled(3, 0.02) as url,
        closing(TunedFloor(url, "streams", said)) as floor,
        closing(HappyTurn(url, ("streams",), said, data_dir=folder)) as ours,
    ):
        for number in range(FIRST_DELTAS + 5):
            for name, way in (("floor", floor.turn), ("ours", ours.turn)):
                delta = FirstDelta()
                way(delta)
                if number >= 5:
                    seen[name].append((delta.after_s or 0.0) * 1e3)
    floor_ms, ours_ms = statistics.median(seen["floor"]), statistics.median(seen["ours"])
    return {"floor": floor_ms, "ours": ours_ms, "is": ours_ms - floor_ms}


def measured(folder: Path) -> Table:
    """All rows; `is` is what a goal is set for."""
    with wire_served(folder) as served:
        clients: dict[str, Client] = {OURS: Reader(served), THEIRS: PlainRequests(served)}
        table = {
            "a new HTTPS connection": connection_row(clients, served),
            "an event of 2 MiB to one of 1 MiB": large_event_row(clients, served),
        }
        for framing in ("chunked", "unchunked"):
            url = f"{served.http}/{framing}"
            table[f"ms an event is held back, {framing}"] = held_back_row(clients, url)
        for client in clients.values():
            client.close()
    return table | {"ms added to the first text": first_delta_row(folder)}


def main() -> None:
    """Measure, print a table, keep the figures, and fail where a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        table = measured(Path(folder))
    print(f"{'on the wire':40}{'floor':>10}{'ours':>10}{'is':>8}{'goal':>8}")
    for name, row in table.items():
        row["goal"] = ALLOWED[name]
        floor, ours, is_now, goal = row.values()
        print(f"{name:40}{floor:10.2f}{ours:10.2f}{is_now:8.2f}{goal:8.2f}")
    keep("wire", table, rounds=ROUNDS)
    missed = [name for name, row in table.items() if row["is"] > row["goal"]]
    if missed:
        raise SystemExit(f"a goal is missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
