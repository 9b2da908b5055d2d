"""Where a turn stands between two steps."""

from turnkeeper.domain.adjust import Adjust, AsIs
from turnkeeper.domain.answers import Prepared
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.rotation import KeyId, Lease


@frozen(kw_only=False)
class Choosing:
    """No attempt is under way."""


@frozen
class Leasing:
    """An attempt is prepared and needs a key."""

    prepared: Prepared
    without: frozenset[KeyId] = frozenset()
    has_waited: bool = False
    kept: tuple[Adjust, ...] = ()


@frozen
class Waiting:
    """Its key is coming back."""

    then: Leasing
    until_s: float


@frozen
class Ready:
    """It can run."""

    prepared: Prepared
    lease: Lease | None
    adjust: Adjust = AsIs()
    kept: tuple[Adjust, ...] = ()


@frozen
class Over:
    """Nothing more is tried."""


Phase = Choosing | Leasing | Waiting | Ready | Over
