"""What a turn would do if it began now, as it is looked at beforehand."""

from datetime import datetime

from turnkeeper.application.ports.key_ring import SavedKey
from turnkeeper.domain.admission import Admission, AdmissionCheck
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.key_condition import KeyCondition
from turnkeeper.domain.owner import Route
from turnkeeper.domain.plan import Attempt
from turnkeeper.domain.standing import Standing


@frozen
class KeyOutlook:
    """A key of an attempt's pool.

    Attributes:
        saved: The key as it may be shown.
        condition: How it stands for the attempt's model.
        is_next: Whether it would be lent first.
    """

    saved: SavedKey
    condition: KeyCondition
    is_next: bool = False


@frozen
class AttemptOutlook:
    """An attempt, and whether it could run.

    Attributes:
        attempt: As planned.
        keys: The keys of its pool; none where it needs none.
        rests_until: Its model rests, and so comes last, until then; None if it does not.
        obstacle: Why it would be passed over now; empty if it would run.
        back_at: When a key is there again, where that is the obstacle; None if nobody knows.
    """

    attempt: Attempt
    keys: tuple[KeyOutlook, ...] = ()
    rests_until: datetime | None = None
    obstacle: str = ""
    back_at: datetime | None = None


@frozen
class RouteOutlook:
    """One route.

    Attributes:
        route: Whose credentials would pay.
        attempts: In the order of their slots; resting ones are tried after the others.
        is_randomized: A random one of them leads each turn, whatever the order here.
        admission: What the rules say; Granted on personal credentials.
        check: What it asks of the server's rules, or None.
        withheld: Why the route is not taken; empty where it is.
    """

    route: Route
    attempts: tuple[AttemptOutlook, ...] = ()
    is_randomized: bool = False
    admission: Admission | None = None
    check: AdmissionCheck | None = None
    withheld: str = ""


@frozen
class TurnPreview:
    """What a turn would do.

    Attributes:
        standing: How things stand.
        routes: The planned one, then the one that may follow it or why it may not.
    """

    standing: Standing
    routes: tuple[RouteOutlook, ...]
