"""What is remembered is what would be planned."""

from builders import a_model, a_request
from fakes import LoadedDice
from turns import a_server

from turnkeeper.application.known_attempts import KnownAttempts
from turnkeeper.domain.plan import ModelEntry
from turnkeeper.domain.planning import server_attempts
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.domain.turn import Persona, TurnRequest

REQUESTS = (
    a_request(),
    a_request(channel_id="other"),
    a_request(channel_id="thread", parent_channel_id="other"),
    a_request(persona=Persona(id="ada")),
    a_request(),
)


def planned(request: TurnRequest, server: ServerSettings) -> object:
    return server_attempts(request, server, None, LoadedDice().below)


def test_a_server_is_planned_once_for_all_its_channels() -> None:
    known, server = KnownAttempts(LoadedDice().below), a_server("alpha", "beta")

    attempts = [known(request, server, None) for request in REQUESTS]

    assert attempts[0] == planned(a_request(), server)
    assert all(one is attempts[0] for one in attempts)


def test_models_of_channels_and_personas_are_told_apart() -> None:
    known = KnownAttempts(LoadedDice().below)
    server = a_server(
        "alpha",
        channel_models=(("other", a_model("gamma")),),
        persona_models=(("ada", a_model("delta")),),
    )

    attempts = [known(request, server, None) for request in (*REQUESTS, *REQUESTS)]

    assert attempts == [planned(request, server) for request in (*REQUESTS, *REQUESTS)]
    assert [of[0].model.name for of in attempts[:4]] == ["alpha", "gamma", "gamma", "delta"]


def test_new_settings_are_planned_anew() -> None:
    known = KnownAttempts(LoadedDice().below)
    known(a_request(), a_server("alpha"), None)

    assert known(a_request(), a_server("beta"), None)[0].model.name == "beta"


def test_what_a_request_names_is_not_remembered() -> None:
    known, server = KnownAttempts(LoadedDice().below), a_server("alpha")
    named = ModelEntry(model=a_model("gamma"))

    names = [known(a_request(), server, one)[0].model.name for one in (None, named, None)]

    assert names == ["alpha", "gamma", "alpha"]


def test_dice_fall_for_each_turn() -> None:
    known = KnownAttempts(LoadedDice(1, 0, 1).below)
    server = a_server("alpha", "beta", randomizer=True)

    names = [known(a_request(), server, None)[0].model.name for _ in range(3)]

    assert names == ["beta", "alpha", "beta"]
