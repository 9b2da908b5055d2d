"""Discord's error codes, by what they mean for a message."""

ALREADY_GONE = "10008"
"""Of a message; from a webhook's route also: not mine, or in another thread."""
ARCHIVED = "50083"
NO_HISTORY = "160002"
"""A reply needs the permission to read what is replied to."""
BAD_FORM = "50035"
TOO_OLD_FOR_BULK = "50034"
MISSING_PERMISSIONS = "50013"

WEBHOOK_GONE = frozenset({"10015", "50027"})

CHANNEL_GONE = frozenset({"10003", "10004"})

CHANNEL_CLOSED = CHANNEL_GONE | {"50001"}
"""What an edit or a look says of a channel that nobody can speak in any more."""

CANNOT_SPEAK = CHANNEL_CLOSED | {
    "20009",
    "40058",
    "50003",
    "50007",
    "50008",
    "50009",
    "50013",
    "50024",
    "50083",
    "50278",
    "160005",
}
"""What a post says of a channel in which nobody can be reached."""

BAD_TOKEN = frozenset({"0", "40001", "50014"})
