"""Where a turn stands between two steps."""

from dataclasses import dataclass

from turnkeeper.domain.adjust import Adjust, AsIs
from turnkeeper.domain.answers import Prepared
from turnkeeper.domain.rotation import KeyId, Lease


@dataclass(frozen=True, slots=True)
class Choosing:
    """No attempt is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leasing:
    """An attempt is prepared and needs a key."""

    prepared: Prepared
    without: frozenset[KeyId] = frozenset()
    has_waited: bool = False
    kept: tuple[Adjust, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Its key is coming back."""

    then: Leasing
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """It can run."""

    prepared: Prepared
    lease: Lease | None
    adjust: Adjust = AsIs()
    kept: tuple[Adjust, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """Nothing more is tried."""


Phase = Choosing | Leasing | Waiting | Ready | Over
