"""Limits fire, whoever keeps them, and nothing is cut that goes on."""

import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread, Timer

import pytest
from raw_server import WAIT_S, Certificate, make_certificate

from turnkeeper.infrastructure.http_source import Source
from turnkeeper.infrastructure.timed_socket import TimedSocket

LONG_S = 600.0  # longer than the time limit of a test


@dataclass
class Pair:
    """A connection, and the socket that is its other end."""

    timed: TimedSocket
    theirs: socket.socket

    @property
    def source(self) -> Source:
        return Source(self.timed)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def is_tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=[False, True], ids=["python", "system"])
def pair(request: pytest.FixtureRequest, is_tls: bool, certificate: Certificate) -> Iterator[Pair]:
    if request.param and sys.platform != "linux":
        pytest.skip("the system is not known to keep time")
    ours, theirs = socket.socketpair()
    if is_tls:
        ours, theirs = encrypted(ours, theirs, certificate)
    yield Pair(TimedSocket(ours, system_keeps_time=request.param), theirs)
    ours.close()
    theirs.close()


def encrypted(
    ours: socket.socket, theirs: socket.socket, certificate: Certificate
) -> tuple[socket.socket, socket.socket]:
    served: list[socket.socket] = []
    server = Thread(
        target=lambda: served.append(certificate.context.wrap_socket(theirs, server_side=True))
    )
    server.start()
    context = ssl.create_default_context(cafile=certificate.path)
    client = context.wrap_socket(ours, server_hostname="localhost")
    server.join(WAIT_S)
    served[0].sendall(b"a")
    assert client.recv(1) == b"a"  # and with it what TLS sends by itself after the handshake
    return client, served[0]


def seconds_until_timeout(pair: Pair, source: Source) -> float:
    since_s = time.monotonic()
    with pytest.raises(TimeoutError):
        source.read1()
    return time.monotonic() - since_s


class TestReads:
    def test_they_end_at_the_limit(self, pair: Pair) -> None:
        pair.timed.limit_each(0.1)

        assert 0.08 <= seconds_until_timeout(pair, pair.source) < WAIT_S

    def test_the_limit_can_be_made_shorter_and_longer_again(self, pair: Pair) -> None:
        source = pair.source
        for limit_s in (LONG_S, 0.05, 0.15):
            source.limit_each(limit_s)

        assert 0.13 <= seconds_until_timeout(pair, source) < WAIT_S

    def test_a_limit_of_the_next_holds_up_to_the_next_of_each(self, pair: Pair) -> None:
        source = pair.source
        source.limit_each(LONG_S)
        source.limit_next(0.05)
        assert seconds_until_timeout(pair, source) < WAIT_S
        source.limit_next(0.01)
        source.limit_each(0.15)

        assert 0.13 <= seconds_until_timeout(pair, source) < WAIT_S

    @pytest.mark.parametrize("limit_s", [0.0, -1.0])
    def test_no_time_is_a_short_time_and_not_for_ever(self, pair: Pair, limit_s: float) -> None:
        pair.timed.limit_each(limit_s)

        assert seconds_until_timeout(pair, pair.source) < WAIT_S

    @pytest.mark.parametrize("limit_s", [float("inf"), 1e12, LONG_S])
    def test_a_long_time_waits_for_what_comes(self, pair: Pair, limit_s: float) -> None:
        pair.timed.limit_each(limit_s)
        sender = Timer(0.05, pair.theirs.sendall, (b"late",))
        sender.start()

        assert pair.source.read1() == b"late"
        sender.join()

    def test_a_sender_that_only_trickles_is_not_cut(self, pair: Pair) -> None:
        def trickle() -> None:
            for _ in range(20):
                time.sleep(0.02)
                pair.theirs.sendall(b"a")

        source, got = pair.source, b""
        source.limit_each(0.3)  # of 0.4 that all of it takes
        sender = Thread(target=trickle)
        sender.start()
        while len(got) < 20:
            got += source.read1()

        sender.join()

    def test_shutting_down_wakes_one(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        cut = Timer(0.05, socket.socket.shutdown, (pair.timed.plain, socket.SHUT_RDWR))
        cut.start()

        assert pair.source.read1() == b""
        cut.join()

    def test_the_handler_of_a_signal_may_shut_it_down(self, pair: Pair) -> None:
        def cut(*_: object) -> None:
            socket.socket.shutdown(pair.timed.plain, socket.SHUT_RDWR)

        pair.timed.limit_each(LONG_S)
        with alarms(after_s=0.02, every_s=0.0, handler=cut):
            assert pair.source.read1() == b""

    def test_signals_do_not_end_it_early(self, pair: Pair) -> None:
        with alarms(after_s=0.02, every_s=0.0):
            pair.timed.limit_each(0.2)
            seconds = seconds_until_timeout(pair, pair.source)

        assert 0.18 <= seconds < WAIT_S

    def test_signals_do_not_keep_tls_waiting(self, pair: Pair, is_tls: bool) -> None:
        if not is_tls:
            pytest.skip("Python lets a plain wait begin anew")
        with alarms(after_s=0.02, every_s=0.02):
            pair.timed.limit_each(0.2)
            seconds = seconds_until_timeout(pair, pair.source)

        assert 0.18 <= seconds < WAIT_S


class alarms:
    """Signals that this process gets for the time of a block."""

    def __init__(
        self,
        *,
        after_s: float,
        every_s: float,
        handler: Callable[..., None] = lambda *_: None,
    ) -> None:
        self._times = (after_s, every_s)
        self._handler = handler

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, self._handler)
        signal.setitimer(signal.ITIMER_REAL, *self._times)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)


class TestSends:
    def test_what_nobody_takes_ends_at_the_limit(self, pair: Pair) -> None:
        pair.timed.limit_each(0.1)

        with pytest.raises(TimeoutError):
            pair.timed.send(bytes(50_000_000))

    def test_what_is_taken_too_slowly_ends_at_the_limit(self, pair: Pair) -> None:
        def take() -> None:
            while pair.theirs.recv(10_000):
                time.sleep(0.02)

        taker = Thread(target=take)
        taker.start()
        pair.timed.limit_each(0.2)
        since_s = time.monotonic()
        with pytest.raises(TimeoutError):
            pair.timed.send(bytes(50_000_000))

        assert time.monotonic() - since_s < WAIT_S
        pair.timed.plain.shutdown(socket.SHUT_RDWR)
        taker.join()

    def test_all_of_much_arrives_whatever_signals_come(self, pair: Pair) -> None:
        sent = os.urandom(3_000_000)
        got = bytearray()

        def take() -> None:
            while len(got) < len(sent):
                time.sleep(0.001)
                got.extend(pair.theirs.recv(65_536))

        taker = Thread(target=take)
        taker.start()
        pair.timed.limit_each(LONG_S)
        with alarms(after_s=0.005, every_s=0.005):
            pair.timed.send(sent)
        taker.join(WAIT_S)

        assert bytes(got) == sent

    def test_shutting_down_wakes_one(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        cut = Timer(0.05, socket.socket.shutdown, (pair.timed.plain, socket.SHUT_RDWR))
        cut.start()

        with pytest.raises(OSError, match=r"(?i)pipe|eof|reset"):
            pair.timed.send(bytes(50_000_000))
        cut.join()


class TestSilence:
    @pytest.mark.parametrize("is_limited", [False, True], ids=["each", "next"])
    def test_it_is_seen_without_waiting(self, pair: Pair, is_limited: bool) -> None:
        pair.timed.limit_each(LONG_S)
        if is_limited:
            pair.timed.limit_next(LONG_S)

        assert pair.timed.is_silent()

    def test_one_that_was_looked_at_keeps_its_limit(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        assert pair.timed.is_silent()
        pair.timed.limit_each(0.1)

        assert 0.08 <= seconds_until_timeout(pair, pair.source) < WAIT_S

    def test_what_came_is_no_silence_and_stays(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        pair.theirs.sendall(b"unasked")

        assert not pair.timed.is_silent()
        pair.timed.limit_each(LONG_S)
        assert pair.source.read1() == b"unasked"

    def test_neither_is_the_end(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        pair.theirs.close()

        assert not pair.timed.is_silent()

    def test_nor_a_socket_of_ours_that_is_closed(self, pair: Pair) -> None:
        pair.timed.limit_each(LONG_S)
        pair.timed.plain.close()

        assert not pair.timed.is_silent()


@pytest.mark.skipif(sys.platform != "linux", reason="the system is not known to keep time")
class TestCallsOfTheSystem:
    class Counted(socket.socket):
        changes = 0

        def settimeout(self, timeout_s: float | None) -> None:
            type(self).changes += 1
            super().settimeout(timeout_s)

    def test_python_does_not_wait_by_one_of_its_own(self) -> None:
        with socket.socket() as sock:
            TimedSocket(sock).limit_each(LONG_S)

            assert (sock.gettimeout(), os.get_blocking(sock.fileno())) == (0.0, True)

    def test_limits_that_hardly_differ_take_none(self) -> None:
        with self.Counted() as sock:
            timed = TimedSocket(sock)
            for limit_s in (599.9991, 599.9997, 600.0, 599.1, 600.0):
                timed.limit_each(limit_s)
            assert sock.changes == 1
            timed.limit_each(500.0)
            assert sock.changes == 2

    def test_tls_inside_of_tls_is_timed_by_python(self) -> None:
        class Inner:
            def __init__(self, outer: socket.socket) -> None:
                self.socket, self.recv, self.send = outer, outer.recv, outer.send
                self.recv_into = outer.recv_into

        with socket.socket() as outer:
            timed = TimedSocket(Inner(outer))  # type: ignore[arg-type]
            timed.limit_each(50.0)

            assert (timed.plain, outer.gettimeout()) == (outer, 50.0)
