"""What is remembered is what would be planned."""

from builders import a_model, a_request
from fakes import LoadedDice
from turns import a_server

from turnkeeper.application.known_plans import KnownPlans
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import ModelEntry, Plan
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


def lead_of(plan: Plan) -> str:
    return plan.attempts[0].model.name


def planned(request: TurnRequest, server: ServerSettings) -> object:
    attempts = server_attempts(request, server, None, LoadedDice().below)
    return Plan(route=Route.SERVER, attempts=attempts)


def test_a_server_is_planned_once_for_all_its_channels() -> None:
    known, server = KnownPlans(LoadedDice().below), a_server("alpha", "beta")

    plans = [known(request, server, None) for request in REQUESTS]

    assert plans[0] == planned(a_request(), server)
    assert all(one is plans[0] for one in plans)


def test_models_of_channels_and_personas_are_told_apart() -> None:
    known = KnownPlans(LoadedDice().below)
    server = a_server(
        "alpha",
        channel_models=(("other", a_model("gamma")),),
        persona_models=(("ada", a_model("delta")),),
    )

    plans = [known(request, server, None) for request in (*REQUESTS, *REQUESTS)]

    assert plans == [planned(request, server) for request in (*REQUESTS, *REQUESTS)]
    assert [lead_of(plan) for plan in plans[:4]] == ["alpha", "gamma", "gamma", "delta"]


def test_new_settings_are_planned_anew() -> None:
    known = KnownPlans(LoadedDice().below)
    known(a_request(), a_server("alpha"), None)

    assert lead_of(known(a_request(), a_server("beta"), None)) == "beta"


def test_what_a_request_names_is_not_remembered() -> None:
    known, server = KnownPlans(LoadedDice().below), a_server("alpha")
    named = ModelEntry(model=a_model("gamma"))

    names = [lead_of(known(a_request(), server, one)) for one in (None, named, None)]

    assert names == ["alpha", "gamma", "alpha"]


def test_dice_fall_for_each_turn() -> None:
    known = KnownPlans(LoadedDice(1, 0, 1).below)
    server = a_server("alpha", "beta", randomizer=True)

    names = [lead_of(known(a_request(), server, None)) for _ in range(3)]

    assert names == ["beta", "alpha", "beta"]
