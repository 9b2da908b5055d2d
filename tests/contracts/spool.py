"""Values that a spool keeps."""

from builders import NOON, SERVER, a_delivery
from contracts.journal import an_entry
from contracts.keys import PROVIDER, an_error
from contracts.stores import a_closing

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.turn_store import Booked, Closing
from turnkeeper.domain.admission import Reservation
from turnkeeper.domain.events import KeyLeased
from turnkeeper.domain.finish import Commit
from turnkeeper.domain.rotation import KeyId, Lease
from turnkeeper.domain.secret import Secret

CANARY = "sk-canary-0123456789"


def a_full_closing(turn_id: str = "t1") -> Closing:
    """One that has something in each field."""
    lease = Lease(
        owner=SERVER,
        provider=PROVIDER,
        key_id=KeyId(7),
        secret=Secret(CANARY),
        leased_at=NOON,
        is_main=True,
    )
    leased = KeyLeased(attempt_no=0, key_id=7, is_main=True, is_probe=False)
    held = Reservation(server_id=SERVER.id, trigger_key="trigger", holder=turn_id)
    return a_closing(
        turn_id,
        settle=Commit(reservation=held),
        fates=Fates(posted=(("i1", a_delivery("m1", text="")),), stuck=("m0",)),
        bookings=(Booked(lease=lease, booking=an_error(), keeps_lease=True),),
        entries=(an_entry(0, turn_id, event=leased),),
    )
