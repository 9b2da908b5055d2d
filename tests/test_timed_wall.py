"""The benchmarks' wall of one thread says what the other wall says, and in time."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.server import Wall

ROOT = Path(__file__).parents[1]
TOKENS, GAP_S = 5, 0.02
ASKED = {"model": "streams", "messages": [], "stream": True}
HALF = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 4\r\n\r\n{ "


@pytest.fixture
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.timed_wall", str(TOKENS), str(GAP_S)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("", timeout=10)
        assert process.returncode == 0


def test_it_answers_as_the_other_wall_does(url: str) -> None:
    words = tuple(f"word{n} " for n in range(TOKENS))
    with Wall() as other:
        other.script(Answer(tokens=words), model="streams")
        theirs = requests.post(f"{other.base_url}/chat/completions", json=ASKED)

    ours = requests.post(f"{url}/v1/chat/completions", json=ASKED)

    assert ours.content == theirs.content
    assert ours.headers["Content-Type"] == theirs.headers["Content-Type"]


def test_tokens_come_when_they_are_due_and_each_write_is_counted_once(url: str) -> None:
    began_s = time.perf_counter()
    requests.post(f"{url}/v1/chat/completions", json=ASKED)

    assert time.perf_counter() - began_s >= (TOKENS - 1) * GAP_S
    assert requests.get(f"{url}/late").json()["writes"] == TOKENS
    assert requests.get(f"{url}/late").json()["writes"] == 0


def test_the_gap_can_be_left_out(url: str) -> None:
    requests.get(f"{url}/gap/60")
    requests.get(f"{url}/gap/0")

    assert requests.post(f"{url}/v1/chat/completions", json=ASKED, timeout=10).ok


def test_what_it_does_not_have_is_not_found(url: str) -> None:
    reply = requests.get(f"{url}/v1/models")

    assert reply.status_code == 404
    assert reply.json() == "there is no GET /v1/models"


def test_a_request_in_pieces_is_answered_and_so_is_one_that_came_too_early(url: str) -> None:
    with _line(url) as line:
        line.sendall(HALF)
        time.sleep(2 * GAP_S)
        line.sendall(b" }" + HALF + b" }")

        replies = b""
        while replies.count(b"\r\n0\r\n\r\n") < 2:
            replies += line.recv(65_536)

    assert replies.count(b"data: [DONE]") == 2
    assert replies.startswith(b"HTTP/1.1 200 OK\r\n")


def test_who_leaves_in_the_middle_disturbs_nobody(url: str) -> None:
    with _line(url) as line:
        line.sendall(HALF + b" }")
        line.recv(1)

    asked = requests.post(f"{url}/v1/chat/completions", json=ASKED)

    assert json.loads(asked.text.splitlines()[0].removeprefix("data: "))["choices"]


def _line(url: str) -> socket.socket:
    at = urlsplit(url)
    assert at.hostname is not None
    assert at.port is not None
    return socket.create_connection((at.hostname, at.port), timeout=10)
