"""The dashboard from the command line, and the file of a turn."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kept_turns import keep
from past_turns import rescued
from sqlalchemy import Engine
from stores_in_postgres import stores_in_postgres

from turnkeeper.infrastructure.postgres.journal import PostgresJournal
from turnkeeper.interfaces.cli.program import program

pytestmark = pytest.mark.postgres

TOKEN = "a-token-that-nobody-guesses"
TIMEOUT_S = 20.0


def turnkeeper(database_url: str, folder: Path, *arguments: str, **environ: str) -> Result:
    place = ("--data-dir", str(folder), "--database-url", database_url)
    return CliRunner().invoke(program, [*place, *arguments], env=environ)


def test_a_turn_is_written_into_a_file(database: Engine, database_url: str, tmp_path: Path) -> None:
    PostgresJournal(database).record(rescued("saved"))
    named, latest = tmp_path / "named.html", tmp_path / "latest.html"

    done = turnkeeper(database_url, tmp_path, "explain", "saved", "--html", str(named))
    told = turnkeeper(database_url, tmp_path, "explain", "--html", str(latest), "--json")

    assert (done.exit_code, done.stdout) == (0, f"wrote {named}\n")
    assert json.loads(told.stdout) == {"file": str(latest)}
    assert "took message m1 back" in named.read_text(encoding="utf-8")
    assert named.read_bytes() == latest.read_bytes()


def test_a_file_that_cannot_be_written_is_named(
    database: Engine, database_url: str, tmp_path: Path
) -> None:
    PostgresJournal(database).record(rescued("saved"))
    file = tmp_path / "no" / "folder" / "turn.html"

    done = turnkeeper(database_url, tmp_path, "explain", "saved", "--html", str(file))

    assert done.exit_code == 1
    assert done.stderr == f"turnkeeper: {file} cannot be written: No such file or directory\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_the_dashboard_is_not_shown_to_others_without_a_token(
    database_url: str, tmp_path: Path, host: str
) -> None:
    done = turnkeeper(database_url, tmp_path, "dashboard", "--host", host)

    assert done.exit_code == 1
    assert f"not served on {host} without a token; set TURNKEEPER_DASHBOARD_TOKEN" in done.stderr


def test_a_token_that_is_too_short_is_refused_and_not_shown(
    database_url: str, tmp_path: Path
) -> None:
    done = turnkeeper(database_url, tmp_path, "dashboard", TURNKEEPER_DASHBOARD_TOKEN="guess-me")

    assert done.exit_code == 1
    assert "TURNKEEPER_DASHBOARD_TOKEN: a token has at least 16 characters" in done.stderr
    assert "guess-me" not in done.output + done.stderr


def test_the_command_serves_until_it_is_ended(
    database: Engine, database_url: str, tmp_path: Path
) -> None:
    with stores_in_postgres(database) as stores:
        keep(stores, rescued("saved"))
    place = ("--data-dir", str(tmp_path), "--database-url", database_url)
    main = "from turnkeeper.interfaces.cli import main; main()"
    serve = subprocess.Popen(
        [sys.executable, "-c", main, *place, "dashboard", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "TURNKEEPER_DASHBOARD_TOKEN": TOKEN,
        },
    )
    with serve:
        assert serve.stdout is not None
        assert serve.stderr is not None
        said = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", serve.stdout.readline())
        assert said is not None
        stranger = asked(int(said[1]), {})
        operator = asked(int(said[1]), {"Authorization": f"Bearer {TOKEN}"})
        serve.send_signal(signal.SIGTERM)
        complaints = serve.stderr.read()

    assert (stranger[0], "saved" in stranger[1]) == (401, False)
    assert (operator[0], 'href="/turns/saved"' in operator[1]) == (200, True)
    assert (serve.returncode, complaints) == (0, "")


def asked(port: int, headers: dict[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    with closing(connection):
        connection.request("GET", "/", headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
