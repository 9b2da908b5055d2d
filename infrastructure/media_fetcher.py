"""Fetches the beginnings of media from addresses that people name."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from time import monotonic

from turnkeeper.application.ports.runner import Cancelled, Runner, StillRunning, Stop, Work
from turnkeeper.domain.errors import Closed
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpRequest

LIMIT_S = 3.0
MOST_AT_ONCE = 32


class Fetch(Enum):
    """Why there is no beginning."""

    MOVED = "moved"
    """It lies at another address; or there were too many to fetch them all."""
    FAILED = "failed"


Head = bytes | Fetch


class MediaFetcher:
    """Fetches only from where anybody on the internet may go, and follows no redirect.

    Safe to use from several threads.

    Args:
        http: Over which it asks.
        check: Returns the IP address to connect to, or raises `HttpError`; an `AddressCheck`.
        runner: Where the calls are made, side by side.
        limit_s: The longest that all of them together take.
        most: How many are fetched at once.
    """

    def __init__(
        self,
        http: HttpClient,
        check: Callable[[str], str],
        runner: Runner,
        *,
        limit_s: float = LIMIT_S,
        most: int = MOST_AT_ONCE,
    ) -> None:
        self._http = http
        self._check = check
        self._runner = runner
        self._limit_s = limit_s
        self._most = most

    def heads(self, urls: tuple[str, ...], limit_bytes: int) -> Mapping[str, Head]:
        """At most so many first bytes of what is at each address, or why there are none."""
        until_s = monotonic() + self._limit_s
        try:
            works = {url: self._start(url, limit_bytes) for url in urls[: self._most]}
        except Closed:
            return dict.fromkeys(urls, Fetch.FAILED)
        heads = {url: _result(work, until_s - monotonic()) for url, work in works.items()}
        return {url: heads.get(url, Fetch.MOVED) for url in urls}

    def _start(self, url: str, limit_bytes: int) -> Work[Head]:
        def fetch(stop: Stop) -> Head:
            return self._head(url, limit_bytes, stop)

        return self._runner.start(fetch, "media")

    def _head(self, url: str, limit_bytes: int, stop: Stop) -> Head:
        request = HttpRequest(
            url=url, address=self._check(url), headers=(("Range", f"bytes=0-{limit_bytes - 1}"),)
        )
        stream = self._http.open_stream("GET", request, stop=stop, read_timeout_s=self._limit_s)
        with stream as reply:
            if 300 <= reply.status < 400:
                return Fetch.MOVED
            if reply.status not in {200, 206}:
                return Fetch.FAILED
            return reply.body(limit_bytes, self._limit_s)


def _result(work: Work[Head], left_s: float) -> Head:
    """What came of it; what is late is left to itself."""
    with suppress(HttpError, Cancelled, Closed):
        try:
            return work.result(max(0.0, left_s))
        except StillRunning:
            work.abandon(0)
    return Fetch.FAILED
