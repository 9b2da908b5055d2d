"""What `explain` says of each of the sixteen faults, as whole texts.

The texts lie beside this module. After a change of words, look at what
`TURNKEEPER_WRITE_EXPLAINED=1 pytest tests/acceptance/test_explained_faults.py` makes of them.
"""

from collections.abc import Iterator

import pytest
from builders import a_request
from explained_texts import kept, the_same_each_time
from fakes import ScriptedProvider, says
from streets import WAYS, House, Street
from turns import Benches, a_server

from turnkeeper.domain.admission import CooldownRule, CooldownType
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.wall.fault import PATIENT, Fault, Outage
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.explain import explained

OPENAI = WAYS[0]


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall(dialects=(OPENAI.dialect,)) as wall:
        street = Street(OPENAI, wall, http, tmp_path_factory.mktemp("street"))
        yield street
        street.close()
    http.close()


def decisions_of(house: House) -> list[str]:
    """The lines of a turn in that house."""
    turn_id = house.run().turn_id
    return [str(why) for why in explained(house.keeper.events(turn_id), decisions_only=True)]


def story_of(fault: Fault | Outage, street: Street) -> list[str]:
    """The decisions of a turn that meets the fault; of an outage, those of the one after too."""
    if isinstance(fault, Outage):
        house = House(street, PATIENT)
        house.script((fault.down,))
        return [*decisions_of(house), *decisions_of(house)]
    house = House(street, fault.limits)
    house.keeper.configure.set_content_filter(house.server.id, fault.content_filter)
    house.script(fault.met_by_primary(OPENAI.family), fault.fallback)
    return decisions_of(house)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.id} {fault.name}")
def test_each_fault_is_explained(fault: Fault | Outage, street: Street) -> None:
    said = the_same_each_time(story_of(fault, street))

    assert said == kept(fault.id, said)


def test_a_refused_turn_names_its_user_its_server_and_when_it_may_come_again(
    bench: Benches,
) -> None:
    a_minute = CooldownRule(type=CooldownType.PER_USER, length_s=60)
    turn = bench(
        ScriptedProvider(alpha=says("Hello.")), server=a_server("alpha", cooldown=a_minute)
    )
    turn.run(a_request(user_id="ann", trigger_id="t1"))

    turn.run(a_request(user_id="ann", trigger_id="t2"))

    first, second, *_ = [why.text for why in explained(turn.recorder.entries)]
    assert first == "planned on the server route for user ann of server guild: alpha"
    assert second == "refused on the planned route: cooldown; may be tried again in 60 s"
