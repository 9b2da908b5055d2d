"""The endpoint on a real socket, over a real database, and after a restart."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import pytest
from click.testing import CliRunner
from contracts.notices import DETAILS, PLACE
from fakes import FrozenClock
from signed import PING, Signer, a_press
from sqlalchemy import Engine

from turnkeeper.application.answer_press import AnswerPress
from turnkeeper.application.ports.notices import Notices
from turnkeeper.application.ports.turn_store import Opening
from turnkeeper.domain.answers import Signal
from turnkeeper.domain.catalogue import WordBook
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.press import StopButton
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.memory.notices import MemoryNotices
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.signals import MemorySignals
from turnkeeper.infrastructure.postgres.engine import create_engine_for
from turnkeeper.infrastructure.postgres.notices import PostgresNotices
from turnkeeper.infrastructure.postgres.signals import PostgresSignals
from turnkeeper.infrastructure.postgres.turn_store import PostgresTurnStore
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.interactions.app import InteractionsApp
from turnkeeper.interfaces.interactions.body import MAX_BODY_BYTES
from turnkeeper.interfaces.interactions.server import InteractionsServer
from turnkeeper.interfaces.interactions.signature import SignatureCheck

DISCORD = Signer()
WORDS = WordBook()
TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where it is served."""

    port: int

    def post(self, payload: object, *, signer: Signer = DISCORD) -> tuple[int, Any]:
        body = json.dumps(payload).encode()
        return self.send(body, signer.headers(body, at_s=int(time())))

    def send(self, body: Any, headers: dict[str, str], method: str = "POST") -> tuple[int, Any]:
        """Send a body, or the pieces of one without saying their length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        with closing(connection):
            connection.request(method, "/interactions", body, headers)
            response = connection.getresponse()
            said = response.read()
            is_json = response.headers["Content-Type"] == "application/json"
            return response.status, json.loads(said) if is_json else said.decode()

    def open(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S)


@contextmanager
def serving(answer: AnswerPress, runner: ThreadRunner, threads: int = 4) -> Iterator[Endpoint]:
    """The endpoint on a socket of its own."""
    check = SignatureCheck(DISCORD.public_key, clock=SystemClock())
    app = InteractionsApp(check=check, answer=answer)
    server = InteractionsServer(app, host="127.0.0.1", port=0, threads=threads)
    work = runner.start(lambda stop: server.run(), "interactions")
    try:
        yield Endpoint(int(server.url.rpartition(":")[2]))
    finally:
        server.close()
        work.result(TIMEOUT_S)
        server.close()


def an_answer(notices: Notices, runner: ThreadRunner) -> AnswerPress:
    signals = MemorySignals(Register(FrozenClock()))
    return AnswerPress(notices=notices, signals=signals, catalogue=WORDS, runner=runner)


@pytest.fixture
def runner() -> Iterator[ThreadRunner]:
    runner = ThreadRunner()
    yield runner
    runner.close()


@pytest.fixture
def endpoint(runner: ThreadRunner) -> Iterator[Endpoint]:
    notices = MemoryNotices(FrozenClock())
    notices.save(PLACE, DETAILS)
    with serving(an_answer(notices, runner), runner, threads=1) as endpoint:
        yield endpoint


# ── on a socket ─────────────────────────────────────────────────────────────────────────────


def test_a_ping_is_answered(endpoint: Endpoint) -> None:
    assert endpoint.post(PING) == (200, {"type": 1})


def test_a_press_opens_the_details(endpoint: Endpoint) -> None:
    status, said = endpoint.post(a_press())

    assert (status, said["type"], said["data"]["title"]) == (200, 9, DETAILS.title)


def test_a_forged_press_is_refused(endpoint: Endpoint) -> None:
    assert endpoint.post(a_press(), signer=Signer())[0] == 401


def test_other_methods_are_refused(endpoint: Endpoint) -> None:
    assert endpoint.send(None, {}, "GET") == (405, {"error": "interactions are posted"})


def test_a_body_in_chunks_is_served(endpoint: Endpoint) -> None:
    body = json.dumps(PING).encode()
    headers = DISCORD.headers(body, at_s=int(time()))

    assert endpoint.send(iter([body[:7], body[7:]]), headers) == (200, {"type": 1})


def test_a_body_of_no_length_is_empty(endpoint: Endpoint) -> None:
    with endpoint.open() as sender:
        headers = DISCORD.headers(b"", at_s=int(time()))
        lines = [f"{name}: {value}" for name, value in headers.items()]
        sender.sendall("\r\n".join(["POST / HTTP/1.1", "Host: x", *lines, "", ""]).encode())

        assert sender.recv(100).startswith(b"HTTP/1.1 4")


def test_a_body_that_is_too_long_is_refused_before_it_is_sent(endpoint: Endpoint) -> None:
    with endpoint.open() as sender:
        length = MAX_BODY_BYTES * 10
        sender.sendall(f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())

        assert sender.recv(100).startswith(b"HTTP/1.1 413")


def test_chunks_without_end_are_refused(endpoint: Endpoint) -> None:
    with endpoint.open() as sender:
        sender.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(64):
                sender.sendall(chunk)
        except OSError:
            return  # it hung up on us, which is as good
        assert sender.recv(100).startswith(b"HTTP/1.1 413")


def test_senders_that_never_end_do_not_keep_others_waiting(endpoint: Endpoint) -> None:
    slow = [endpoint.open() for _ in range(20)]
    for sender in slow:
        sender.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")

    assert endpoint.post(PING) == (200, {"type": 1})
    for sender in slow:
        sender.close()


def test_many_presses_at_once_are_all_answered(endpoint: Endpoint) -> None:
    presses = [{**a_press(), "id": str(number)} for number in range(32)]

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(endpoint.post, presses))

    assert {(status, said["type"]) for status, said in answered} == {(200, 9)}


def test_one_request_sent_many_times_is_answered_once(endpoint: Endpoint) -> None:
    body = json.dumps(a_press()).encode()
    headers = DISCORD.headers(body, at_s=int(time()))

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(lambda _: endpoint.send(body, headers)[0], range(16)))

    assert sorted(answered) == [200] + [401] * 15


# ── on a database ───────────────────────────────────────────────────────────────────────────


@contextmanager
def a_process(url: str) -> Iterator[tuple[Endpoint, Engine]]:
    """Objects of their own on the same database, as another process has them."""
    engine, runner = create_engine_for(url, pool_size=4), ThreadRunner()
    signals = PostgresSignals(engine, runner=runner)
    answer = AnswerPress(
        notices=PostgresNotices(engine), signals=signals, catalogue=WORDS, runner=runner
    )
    with serving(answer, runner) as endpoint:
        yield endpoint, engine
    signals.close()
    runner.close()
    engine.dispose()


@pytest.mark.postgres
def test_a_button_still_works_after_a_restart(database_url: str) -> None:
    with a_process(database_url) as (endpoint, engine):
        PostgresNotices(engine).save(PLACE, DETAILS)
        before = endpoint.post(a_press())

    with a_process(database_url) as (endpoint, _):
        after = endpoint.post({**a_press(), "id": "2"})

    assert before == after
    assert after[1]["data"]["components"][0] == {"type": 10, "content": DETAILS.lead}


@pytest.mark.postgres
def test_a_press_stops_a_turn_of_another_process(database: Engine, database_url: str) -> None:
    turns, runner = PostgresTurnStore(database), ThreadRunner()
    turns.open(
        Opening(
            turn_id="t1",
            turn_key="",
            server=Owner.server("678"),
            channel_id="456",
            user_id="7",
            admission=None,
        )
    )
    button = StopButton(turn_id="t1", asker_id="7").button

    with a_process(database_url) as (endpoint, _):
        stranger = endpoint.post(a_press(button, user_id="8"))
        asker = endpoint.post(a_press(button, user_id="7"))

    assert [said["data"]["content"] for _, said in (stranger, asker)] == [
        WORDS.text("press.not_yours", "en"),
        WORDS.text("press.stopped", "en"),
    ]
    signals = PostgresSignals(database, runner=runner)
    assert signals.pending("t1") is Signal.STOP_REQUESTED
    signals.close()
    runner.close()


@pytest.mark.postgres
def test_a_database_that_is_away_leaves_no_press_unanswered() -> None:
    with a_process("postgresql://nobody@127.0.0.1:1/nothing") as (endpoint, _):
        status, said = endpoint.post(a_press())

    assert (status, said["data"]["content"]) == (200, WORDS.text("press.store", "en"))


# ── from the command line ───────────────────────────────────────────────────────────────────


@pytest.mark.postgres
def test_the_command_serves_until_it_is_ended(
    database: Engine, database_url: str, tmp_path: Path
) -> None:
    PostgresNotices(database).save(PLACE, DETAILS)
    place = ("--data-dir", str(tmp_path), "--database-url", database_url)
    command = [sys.executable, "-c", "from turnkeeper.interfaces.cli import main; main()", *place]
    serve = subprocess.Popen(
        [*command, "interactions", "serve", "--port", "0", "--no-modals"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "TURNKEEPER_DISCORD_PUBLIC_KEY": DISCORD.public_key,
        },
    )
    with serve:
        assert serve.stdout is not None
        assert serve.stderr is not None
        said = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", serve.stdout.readline())
        assert said is not None
        status, answer = Endpoint(int(said[1])).post(a_press())
        serve.send_signal(signal.SIGTERM)
        complaints = serve.stderr.read()

    assert (status, answer["type"], answer["data"]["flags"]) == (200, 4, 64)
    assert (serve.returncode, complaints) == (0, "")


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 2, "Missing option '--public-key'"),
        (("--public-key", "nonsense"), 1, "64 hexadecimal digits"),
        (("--public-key", DISCORD.public_key, "--host", "203.0.113.1"), 1, "cannot listen on"),
    ],
    ids=["no key", "no such key", "no such host"],
)
def test_the_command_says_what_is_wrong(
    database_url: str, tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    place = ("--data-dir", str(tmp_path), "--database-url", database_url)

    result = CliRunner().invoke(program, [*place, "interactions", "serve", *arguments])

    assert result.exit_code == status
    assert said in result.stderr
