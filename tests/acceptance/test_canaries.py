"""Keys, master secrets and what people wrote are planted, and looked for wherever text leaves."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from canaries import (
    KEY,
    MASTER,
    MASTER_SECRETS,
    WISH,
    WRITTEN,
    Overheard,
    WatchedHouse,
    WatchedStreet,
    leaks,
    leaks_in,
    overhearing,
)
from click.testing import CliRunner
from sqlalchemy import Engine, text
from stores_in_postgres import one_database
from streets import WAYS

from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.postgres.engine import transaction
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    InBandError,
    Malformed,
    Refuse,
    Replay,
    Reset,
)
from turnkeeper.infrastructure.wall.fault import PATIENT, Fault, Steps
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.script import Step
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.settings import Settings

pytestmark = pytest.mark.postgres

Quoting = Callable[[Seen], Behaviour]


# ── providers that repeat what they were sent ───────────────────────────────────────────────


def quote_of(seen: Seen) -> str:
    """All that a careless provider may repeat."""
    return (
        f"key {seen.key} of {seen.headers.get('authorization')} may not say '{WISH}.\nTell nobody!'"
        f" {json.dumps(WISH)} {seen.raw[:2000]!r}"
    )


def quoting(step: Step) -> Quoting:
    """The same, but it quotes the request wherever it says anything."""

    def quoted(seen: Seen) -> Behaviour:
        behaviour = step(seen) if callable(step) else step
        quote = quote_of(seen)
        match behaviour:
            case Refuse():
                headers = (*behaviour.headers, ("X-Request-Key", str(seen.key)))
                body = _quoting_body(behaviour.body, quote)
                return replace(behaviour, body=body, headers=headers)
            case Malformed():
                return replace(behaviour, payload=f"data: {quote!r}\n\n".encode())
            case InBandError():
                return replace(behaviour, message=quote)
            case Replay():
                said = b'"SAFETY", "blockReasonMessage": ' + json.dumps(quote).encode()
                return replace(behaviour, body=behaviour.body.replace(b'"SAFETY"', said))
        return behaviour

    return quoted


def _quoting_body(body: object, quote: str) -> dict[str, object]:
    error = dict(body["error"]) if isinstance(body, dict) else {}
    return {"error": {**error, "message": f"{error.get('message', '')} {quote}".strip()}}


REFUSALS = tuple(
    (f"{status} that quotes", (Refuse(status=status),)) for status in (400, 401, 402, 403, 404, 500)
)
MORE: tuple[tuple[str, Steps], ...] = (
    *REFUSALS,
    ("an error within the answer that quotes", (InBandError(status=429, after_tokens=3),)),
    ("a reset on both", (Reset(),)),
)
Class = tuple[TimeLimits, str, Fault | Steps]
CLASSES: tuple[Class, ...] = (
    *(
        (fault.limits, f"{fault.id} {fault.name}", fault)
        if isinstance(fault, Fault)
        else (PATIENT, f"{fault.id} {fault.name}", (fault.down,))
        for fault in FAULTS
    ),
    *((PATIENT, name, steps) for name, steps in MORE),
)
"""Every class of fault, with its limits and its name."""


# ── a place where all is overheard ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def overheard() -> Iterator[Overheard]:
    with overhearing() as heard:
        yield heard


@pytest.fixture(scope="module")
def store(postgres_url: str) -> Iterator[Engine]:
    with one_database(postgres_url) as engine:
        yield engine


@pytest.fixture(scope="module", params=WAYS, ids=[way.name for way in WAYS])
def street(
    request: pytest.FixtureRequest,
    overheard: Overheard,
    store: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[WatchedStreet]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    url = store.url.render_as_string(hide_password=False)
    folder = tmp_path_factory.mktemp("street")
    with Wall(dialects=(request.param.dialect,)) as wall:
        street = WatchedStreet(request.param, wall, http, folder, url)
        yield street
        street.close()
    http.close()


def command(street: WatchedStreet, line: str, typed: str = "") -> str:
    """What a command prints, its errors included."""
    arguments = ("--database-url", street.url, *line.split())
    environ = {"TURNKEEPER_SECRET_V1": MASTER}
    result = CliRunner().invoke(program, arguments, input=typed, env=environ)
    assert result.exit_code == 0, result.output
    assert result.stdout
    return result.output


# ── nothing leaves ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limits", "name", "steps"),
    CLASSES,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_secret_and_nothing_that_was_written_leaves_a_turn_that_fails(
    street: WatchedStreet,
    store: Engine,
    overheard: Overheard,
    limits: TimeLimits,
    name: str,
    steps: Fault | Steps,
) -> None:
    met = steps.met_by_primary(street.way.family) if isinstance(steps, Fault) else steps
    house = WatchedHouse(street, limits)
    house.script(tuple(map(quoting, met)))
    overheard.lines.clear()
    request = TurnRequest(conversation=WRITTEN, server_id=house.server.id, user_id="ann")

    left = list(house.exits_of(request))

    assert leaks(left) == set()
    assert leaks(overheard.lines) == set()
    assert leaks_in(store) == set()
    assert house.asked, "the provider was never asked"
    assert overheard.lines, "nothing was overheard"


@pytest.mark.parametrize(
    ("name", "steps"), REFUSALS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_raised_to_the_caller_tells_nothing(
    street: WatchedStreet, overheard: Overheard, name: str, steps: Steps
) -> None:
    house = WatchedHouse(street, PATIENT)
    refused = tuple(map(quoting, steps))
    house.script(refused, refused)
    request = TurnRequest(conversation=WRITTEN, server_id=house.server.id, audience=Audience.CALLER)

    left = list(house.exits_of(request))

    assert any("TurnFailed" in found for found in left)
    assert leaks([*left, *overheard.lines]) == set()


@pytest.mark.parametrize(
    "line",
    ["explain", "explain --json", "explain --export -", "turns", "turns --json",
     "turns --limit 200 --export -", "key list", "key list --json", "doctor", "doctor --json",
     "pool", "pool --json", "plan --server guild", "plan --server guild --json",
     "secrets audit", "secrets audit --json", "sweep"],
)  # fmt: skip
def test_no_command_prints_any(street: WatchedStreet, line: str) -> None:
    house = WatchedHouse(street, PATIENT)
    house.script((quoting(Refuse(status=401)),), (quoting(Refuse(status=403)),))
    house.run(WRITTEN)

    assert leaks([command(street, line)]) == set()


@pytest.mark.parametrize("option", ["", "--json"])
def test_no_replay_prints_any(street: WatchedStreet, option: str) -> None:
    house = WatchedHouse(street, PATIENT)
    house.script((quoting(Refuse(status=401)),), (quoting(Refuse(status=403)),))
    house.run(WRITTEN)
    file = command(street, "turns --limit 200 --export -")

    assert leaks([command(street, f"replay - {option}", typed=file)]) == set()


def test_nothing_that_holds_a_secret_shows_it(street: WatchedStreet) -> None:
    house = WatchedHouse(street, PATIENT)
    settings = Settings(master_secrets=MASTER_SECRETS, discord_token=f"{KEY}.bot.token")
    shown = [settings, settings.master_secrets, house.keeper, Secret(KEY), vars(house.keeper)]

    assert leaks([*map(repr, shown), *map(str, shown)]) == set()


def test_what_leaks_is_found(store: Engine) -> None:
    with transaction(store) as connection:
        connection.execute(
            text(
                "INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data)"
                f" VALUES ('guild', 'a leak', 0, 0, '', 'it was {KEY}')"
            )
        )
    found = leaks_in(store)
    with transaction(store) as connection:
        connection.execute(text("DELETE FROM turn_events WHERE turn_id = 'a leak'"))

    assert {name for name, _ in found} == {"a key"}
    assert {name for name, _ in leaks([f"it was {MASTER}", "nothing"])} == {"the master secret"}
