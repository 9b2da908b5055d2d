import pytest
from contracts.key_bookings import KeyBookingsContract
from contracts.key_crowds import KeyCrowdsContract
from contracts.key_rests import KeyRestsContract
from contracts.key_ring import KeyRingContract
from contracts.key_vault import KeyVaultContract
from contracts.keys import Keys
from fakes import FrozenClock
from forgetful_vault import ForgetfulVault

from turnkeeper.infrastructure.memory.key_ring import MemoryKeyRing


class InMemory:
    @pytest.fixture
    def keys(self) -> Keys:
        vault, clock = ForgetfulVault(), FrozenClock()
        ring = MemoryKeyRing(vault=vault, clock=clock)
        return Keys(ring=ring, saved=ring, vault=vault, pass_time=clock.advance)


class TestMemoryKeyRing(InMemory, KeyRingContract):
    pass


class TestMemoryKeyRests(InMemory, KeyRestsContract):
    pass


class TestMemoryKeyBookings(InMemory, KeyBookingsContract):
    pass


class TestMemoryKeyCrowds(InMemory, KeyCrowdsContract):
    pass


class TestMemoryKeyVault(InMemory, KeyVaultContract):
    pass
