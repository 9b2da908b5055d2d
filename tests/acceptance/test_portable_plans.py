"""Settings that were exported and imported elsewhere give the plans that they gave before."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from builders import SERVER, USER, a_request
from contracts.settings import Settings
from fakes import FrozenClock, OneProvider, ScriptedProvider
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_settings import CHANNELS, PERSONAS, Wanted, servers, users
from sqlalchemy import Engine, text

from turnkeeper.application.configure import Configure
from turnkeeper.application.configure_models import ConfigurePorts
from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.plan_turn import admission_check
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.planning import (
    goes_personal,
    lends,
    personal_attempts,
    server_attempts,
    withheld,
)
from turnkeeper.domain.settings import PersonalSettings, ServerSettings
from turnkeeper.domain.turn import Persona, TurnRequest
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.postgres.settings_editor import PostgresSettingsEditor
from turnkeeper.infrastructure.postgres.settings_store import PostgresSettingsStore
from turnkeeper.infrastructure.settings_file import read, written
from turnkeeper.infrastructure.vault import AesGcmVault

pytestmark = pytest.mark.postgres

HUNDRED = settings(
    max_examples=100,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
REQUESTS = (
    a_request(user_id="ann", parent_channel_id=CHANNELS[0]),
    *(
        a_request(user_id="ann", channel_id=channel, persona=Persona(id=persona))
        for channel, persona in product(CHANNELS, ("", *PERSONAS))
    ),
)


class House:
    """One database, emptied between examples."""

    def __init__(self, engine: Engine, vault: AesGcmVault) -> None:
        self.engine = engine
        self.at = Settings(
            store=PostgresSettingsStore(engine), editor=PostgresSettingsEditor(engine)
        )
        self.configure = Configure(
            ConfigurePorts(
                store=self.at.store,
                editor=self.at.editor,
                keys=MemoryKeyRing(vault=vault, clock=FrozenClock()),
                providers=OneProvider(ScriptedProvider()),
                known=KnownSettings(self.at.store),
            )
        )

    def empty(self) -> None:
        with self.engine.connect() as connection:
            connection.execute(text("TRUNCATE models, owner_settings, saved_providers, endpoints"))


@pytest.fixture
def house(database: Engine, vault: AesGcmVault) -> House:
    return House(database, vault)


def moved(house: House, wanted: Wanted) -> None:
    """Export what was wanted, empty the database, and import it there."""
    owner = SERVER if isinstance(wanted.settings, ServerSettings) else USER
    exported = house.configure.export_settings(owner)
    assert exported.left_out == ()
    file = written(exported.settings)
    house.empty()
    house.configure.import_settings(read(file))
    assert written(house.configure.export_settings(owner).settings) == file


def by_place(attempts: tuple[Attempt, ...], there: tuple[Endpoint, ...]) -> list[Attempt]:
    """The attempts with the places of endpoints for their numbers, which no database shares."""
    places = {one.id: place for place, one in enumerate(there, start=1)}
    found = []
    for attempt in attempts:
        if attempt.endpoint is not None:
            place = places[attempt.endpoint.id]
            model = attempt.model
            if model.id == f"endpoint:{attempt.endpoint.id}":
                model = replace(model, id=f"endpoint:{place}")
            endpoint = replace(attempt.endpoint, id=place)
            attempt = replace(attempt, endpoint=endpoint, model=model)
        found.append(attempt)
    return found


def server_plans(house: House, below: Callable[[int], int]) -> list[object]:
    server = house.at.store.server(SERVER.id)
    there = house.at.editor.endpoints(SERVER)

    def plan(request: TurnRequest) -> object:
        attempts = by_place(server_attempts(request, server, None, below), there)
        return attempts, admission_check(request, server, "turn")

    return [lends(server), server.content_filter, *map(plan, REQUESTS)]


def personal_plans(house: House, below: Callable[[int], int]) -> list[object]:
    personal: PersonalSettings = house.at.store.personal(USER.id)
    there = house.at.editor.endpoints(USER)
    attempts = personal_attempts(REQUESTS[0], personal, None, below)
    return [
        goes_personal(REQUESTS[0], personal),
        withheld(REQUESTS[0], personal),
        by_place(attempts, there),
    ]


@HUNDRED
@given(wanted=servers(SERVER), roll=st.integers(0, 11))
def test_a_servers_plans_are_the_same(house: House, wanted: Wanted, roll: int) -> None:
    house.empty()
    wanted.write(house.at.editor, SERVER)
    before = server_plans(house, lambda n: roll % n)

    moved(house, wanted)

    assert server_plans(house, lambda n: roll % n) == before


@HUNDRED
@given(wanted=users(USER), roll=st.integers(0, 11))
def test_a_users_plans_are_the_same(house: House, wanted: Wanted, roll: int) -> None:
    house.empty()
    wanted.write(house.at.editor, USER)
    before = personal_plans(house, lambda n: roll % n)

    moved(house, wanted)

    assert personal_plans(house, lambda n: roll % n) == before
