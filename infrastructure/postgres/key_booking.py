"""`domain.rotation.booked` as one statement for each kind of booking.

Values: owner, provider, key_id, leased_at, is_probe, freed (leases given back: 0 or 1); model
with successes and errors; error_class, text, rest_s, spares (other models) with errors.
"""

from collections.abc import Mapping

from turnkeeper.domain.failure import CooldownScope
from turnkeeper.domain.rotation import (
    ERROR_TEXT_LIMIT,
    BookError,
    Booking,
    BookNeutral,
    BookSuccess,
    Lease,
)
from turnkeeper.infrastructure.postgres.key_choice import NOW

BOOK = """
UPDATE key_state SET in_flight = GREATEST(0, in_flight - %(freed)s)
"""
# Only the probe's own outcome ends its claim.
UNCLAIMED = "probe_until = CASE WHEN NOT %(is_probe)s THEN probe_until END"
ROW = """
WHERE owner = %(owner)s AND provider = %(provider)s AND key_id = %(key_id)s
"""
# What a secret did says nothing of the one that has replaced it since.
SAME_SECRET = f"{ROW} AND secret_since <= %(leased_at)s RETURNING key_id"
RESTS_ON = "(rest_set_at > %(leased_at)s OR rest_model <> %(model)s::text)"
UNTIL = f"{NOW} + %(rest_s)s * interval '1 second'"

NEUTRAL = f"{BOOK}, {UNCLAIMED} {ROW}"

SUCCESS = f"""{BOOK},
    usage_count = usage_count + 1,
    error_count = 0,
    rests_until = CASE WHEN {RESTS_ON} THEN rests_until END,
    rest_set_at = CASE WHEN {RESTS_ON} THEN rest_set_at END,
    rest_model = CASE WHEN {RESTS_ON} THEN rest_model END,
    probe_until = CASE WHEN {RESTS_ON} AND NOT %(is_probe)s THEN probe_until END,
    last_error_class = CASE WHEN {RESTS_ON} THEN last_error_class END,
    last_error_text = CASE WHEN {RESTS_ON} THEN last_error_text END
{SAME_SECRET}
"""

ERROR = f"""{BOOK},
    error_count = error_count + 1,
    {UNCLAIMED},
    last_error_class = %(error_class)s,
    last_error_text = %(text)s
"""
NOTED = f"{ERROR} {SAME_SECRET}"
DISABLED = f"{ERROR}, disabled = TRUE {SAME_SECRET}"
RESTING = f"""{ERROR},
    rests_until = GREATEST(rests_until, {UNTIL}),
    rest_set_at = {NOW},
    rest_model = CASE
        WHEN rests_until > {NOW} AND rest_model IS DISTINCT FROM %(model)s::text THEN NULL
        WHEN %(spares)s THEN %(model)s::text END
{SAME_SECRET}
"""
RESTING_FOR_MODEL = f"""{ERROR},
    model_rests = model_rests || jsonb_build_object(%(model)s::text,
        GREATEST((model_rests ->> %(model)s::text)::timestamptz, {UNTIL}))
{SAME_SECRET}
"""
OF_SCOPE = {
    CooldownScope.NOTHING: NOTED,
    CooldownScope.MODEL: NOTED,
    CooldownScope.KEY: RESTING,
    CooldownScope.KEY_FOR_MODEL: RESTING_FOR_MODEL,
    CooldownScope.KEY_DISABLED: DISABLED,
}


def sql_of(booking: Booking) -> str:
    """The statement that books it; all but `NEUTRAL` return the key, or nothing if it is not it."""
    match booking:
        case BookSuccess():
            return SUCCESS
        case BookNeutral():
            return NEUTRAL
        case BookError(scope=scope):
            return OF_SCOPE[scope]


def values_of(lease: Lease, booking: Booking, *, keeps_lease: bool) -> Mapping[str, object]:
    """The values for all statements here."""
    values = {
        "owner": str(lease.owner),
        "provider": lease.provider,
        "key_id": lease.key_id,
        "leased_at": lease.leased_at,
        "freed": 0 if keeps_lease else 1,
        "is_probe": lease.is_probe,
    }
    match booking:
        case BookNeutral():
            return values
        case BookSuccess():
            return {**values, "model": booking.model}
        case BookError():
            return {
                **values,
                "error_class": booking.booked_as.value,
                "text": _storable(booking.text)[:ERROR_TEXT_LIMIT],
                "model": booking.model,
                "rest_s": booking.rest_s,
                "spares": booking.spares_other_models,
            }


def _storable(text: str) -> str:
    """The text as the database takes it: without NUL and halves of characters."""
    return text.replace("\0", "�").encode(errors="replace").decode()
