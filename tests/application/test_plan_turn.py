import pytest
from builders import a_request
from fakes import FrozenClock, LoadedDice
from turns import VAULT, FixedSettings, a_server, a_user

from turnkeeper.application.known_settings import KnownSettings
from turnkeeper.application.plan_turn import PlanTurn, admission_check
from turnkeeper.application.ports.turn_store import AlreadyEnded, Opened, Opening
from turnkeeper.domain.admission import AdmissionCheck, CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.occasion import Occasion
from turnkeeper.domain.planning import limits_turns
from turnkeeper.domain.settings import ServerSettings
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.memory.journal import MemoryJournal
from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing
from turnkeeper.infrastructure.memory.ledger import MemoryLedger
from turnkeeper.infrastructure.memory.register import Register
from turnkeeper.infrastructure.memory.turn_store import MemoryTurnStore

REQUEST = a_request(user_id="ann", trigger_id="m1")
COOLING = CooldownRule(type=CooldownType.PER_CHANNEL, length_s=9)
WITHOUT_RULES = (
    a_server("alpha"),
    a_server("alpha", quota=QuotaRule(daily_per_user=3)),
    a_server("alpha", quota=QuotaRule(enabled=True)),
)
WITH_RULES = (
    a_server("alpha", cooldown=COOLING),
    a_server("alpha", channel_cooldowns=((REQUEST.channel_id, COOLING),)),
    a_server("alpha", quota=QuotaRule(enabled=True, daily_per_user=3)),
    a_server("alpha", quota=QuotaRule(enabled=True, server_wide=3)),
)


class Openings(MemoryTurnStore):
    """A store that remembers how turns were opened."""

    def __init__(self) -> None:
        clock = FrozenClock()
        register = Register(clock)
        ledger = MemoryLedger(register, journal=MemoryJournal())
        super().__init__(register, ledger=ledger, keys=MemoryKeyRing(vault=VAULT, clock=clock))
        self.seen: list[Opening] = []

    def open(self, opening: Opening) -> Opened | AlreadyEnded:
        self.seen.append(opening)
        return super().open(opening)


def asked_of(server: ServerSettings, request: TurnRequest = REQUEST) -> AdmissionCheck | None:
    turns, settings = Openings(), FixedSettings(server, a_user())
    known = KnownSettings(settings)
    PlanTurn(store=settings, known=known, turns=turns, dice=LoadedDice())(request, "t1")
    (opening,) = turns.seen
    return opening.admission


@pytest.mark.parametrize("server", WITHOUT_RULES)
def test_of_a_server_without_rules_nothing_is_asked(server: ServerSettings) -> None:
    check = admission_check(REQUEST, server, "t1")

    assert (check.cooldown, check.quota) == (None, None)
    assert asked_of(server) is None


@pytest.mark.parametrize("server", WITH_RULES)
def test_all_rules_of_a_server_are_asked(server: ServerSettings) -> None:
    check = admission_check(REQUEST, server, "t1")

    assert limits_turns(server)
    assert check.cooldown or check.quota
    assert asked_of(server) == check


def test_a_turn_that_a_rule_spares_asks_all_the_same() -> None:
    spared = a_request(user_id="ann", occasion=Occasion(is_stop_response=True))

    check = asked_of(WITH_RULES[0], spared)

    assert check == admission_check(spared, WITH_RULES[0], "t1")
