"""Signals about the account: its money, its key, and how much is asked of it.

Source: the error documentation of the providers, and their answers as recorded.
"""

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.signal import Signal, any_of

MONEY = (
    Signal(
        id="affordable",  # it would go through with fewer output tokens
        kind=FailureKind.QUOTA,
        statuses=frozenset({402}),
        says=any_of(r"can only afford \d"),
    ),
    Signal(
        id="budget-in-flight",  # freed as soon as other calls have ended
        kind=FailureKind.RATE_LIMIT,
        words=any_of("openrouter_in_flight_budget"),
    ),
    Signal(
        id="no-free-tier",  # a limit of zero is not one that was used up
        kind=FailureKind.PERMISSION,
        statuses=frozenset({429}),
        says=any_of(r"\blimit: 0\b"),
    ),
    Signal(
        id="day-quota-gemini",  # its own hints of some seconds are wrong
        kind=FailureKind.QUOTA,
        words=any_of(r"\w*perday\w*[\w-]*"),
        until_midnight_pacific=True,
    ),
    Signal(
        id="day-quota",
        kind=FailureKind.QUOTA,
        words=any_of(r"\w+_daily"),
        says=any_of("free-models-per-day"),
    ),
    Signal(
        id="plan-quota-zai",
        kind=FailureKind.QUOTA,
        providers=frozenset({"zai"}),
        words=any_of("1304", "1308", "1309", "1310", "131[6-9]", "132[01]"),
        says=any_of("usage limit reached", "limit exhausted"),
    ),
    Signal(
        id="balance-zai",
        kind=FailureKind.QUOTA,
        providers=frozenset({"zai"}),
        words=any_of("1112", "1113"),
    ),
    Signal(
        id="billing",
        kind=FailureKind.QUOTA,
        words=any_of(
            r"insufficient_(quota|balance|credits?|funds)",
            r"billing_(error|not_active|hard_limit_reached)",
            r"payment_required",
        ),
        says=any_of(
            "credit balance is too low",
            r"insufficient (account )?(balance|credits?|funds)",
            "key limit exceeded",
            "credits? (is|are|have been|has been) (depleted|exhausted|used up)",
            "used all available credits",
            "monthly spending limit",
            "active subscription is required",
            "(enable|requires) billing",
        ),
    ),
    Signal(id="payment", kind=FailureKind.QUOTA, statuses=frozenset({402})),
)

KEY = (
    Signal(
        id="key-code",
        kind=FailureKind.AUTH,
        words=any_of(
            r"(invalid|expired|missing)_api_key",
            r"api_key_(invalid|expired)",
            r"authentication(_error)?",
            r"invalid_(authentication|credentials|token)",
            r"unauthenticated|unauthorized",
            r"account_(deactivated|disabled)",
        ),
    ),
    Signal(
        id="key-zai",
        kind=FailureKind.AUTH,
        providers=frozenset({"zai"}),
        words=any_of("100[0-4]", "111[01]", "1121"),
    ),
    Signal(
        id="key-said",
        kind=FailureKind.AUTH,
        says=any_of(
            r"(invalid|incorrect|missing|expired|wrong) (x-)?api[- ]?key",
            r"api[- ]?key (is |was |has )?(not valid|invalid|expired|been (disabled|revoked)|"
            r"reported as leaked|not found)",
            r"authentication fails",
            r"no auth credentials",
            r"invalid (access|auth|authentication|bearer) token\b",
        ),
    ),
    Signal(
        id="permission-code",
        kind=FailureKind.PERMISSION,
        words=any_of(
            r"permission_(error|denied)",
            r"(region|country)_restricted",
            r"unsupported_country_region_territory",
            r"model_permission_blocked\w*",
            r"service_disabled|access_denied|forbidden",
        ),
    ),
    Signal(
        id="permission-zai",
        kind=FailureKind.PERMISSION,
        providers=frozenset({"zai"}),
        words=any_of("122[0-2]", "1311"),
    ),
    Signal(
        id="permission-said",
        kind=FailureKind.PERMISSION,
        says=any_of(
            r"(location|region|territory) is not supported",
            r"not eligible for this model",
            r"(not have|no) (access|permission) to",
            r"must be verified",
        ),
    ),
)

PRESSURE = (
    Signal(
        id="tier-capacity",
        kind=FailureKind.OVERLOADED,
        words=any_of("capacity_(exhausted|exceeded)", r"\w*tier_capacity_exceeded"),
        says=any_of("tier capacity exceeded"),
    ),
    Signal(
        id="upstream-limit",  # a limit of the key or the pool at the provider behind the gateway
        kind=FailureKind.RATE_LIMIT,
        providers=frozenset({"openrouter"}),
        statuses=frozenset({429}),
        says=any_of(r"rate[- ]limit"),
    ),
    Signal(
        id="upstream-busy",
        kind=FailureKind.OVERLOADED,
        providers=frozenset({"openrouter"}),
        statuses=frozenset({429}),
        words=any_of("upstream"),
    ),
    Signal(
        id="busy-zai",
        kind=FailureKind.OVERLOADED,
        providers=frozenset({"zai"}),
        words=any_of("1312"),
    ),
    Signal(
        id="limit-zai",
        kind=FailureKind.RATE_LIMIT,
        providers=frozenset({"zai"}),
        words=any_of("130[235]", "1313"),
    ),
    Signal(
        id="limit-mistral",
        kind=FailureKind.RATE_LIMIT,
        providers=frozenset({"mistral"}),
        words=any_of("1300"),
    ),
    Signal(
        id="limit-code",
        kind=FailureKind.RATE_LIMIT,
        words=any_of(
            r"rate_limit(_exceeded|_error|ed)?|ratelimitreached|ratelimitexceeded",
            r"too_many_requests|throttl\w*|resource_exhausted",
        ),
    ),
    Signal(
        id="limit-said",
        kind=FailureKind.RATE_LIMIT,
        says=any_of(r"rate[- ]?limit\w* (exceeded|reached)", "too many requests"),
    ),
    Signal(
        id="overloaded-code",
        kind=FailureKind.OVERLOADED,
        words=any_of(
            r"overloaded(_error)?|(server|engine|model|provider)_overloaded",
            r"unavailable|temporarily_unavailable|service_unavailable|slow_down",
            r"insufficient_system_resource",
        ),
    ),
    Signal(
        id="overloaded-said",
        kind=FailureKind.OVERLOADED,
        says=any_of(
            r"\boverloaded\b",
            r"loading model",
            r"(experiencing|due to|currently in) high (demand|load|traffic)",
            r"(at|over|insufficient) capacity",
        ),
    ),
)
