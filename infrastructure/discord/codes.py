"""Discord's error codes, by what they mean for a message."""

from collections.abc import Mapping
from types import MappingProxyType

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

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "10003": "the channel is gone",
        "10004": "the server is gone",
        "20009": "explicit content is not taken there",
        "40001": "the bot's token is not valid",
        "40058": "nobody else may write in this thread yet",
        "50001": "the bot has no access to the channel",
        "50003": "not in a direct message",
        "50007": "the person takes no messages from the bot",
        "50008": "not a channel for text",
        "50009": "the channel wants a verified account",
        "50013": "the bot lacks a permission",
        "50014": "the bot's token is not valid",
        "50024": "not in a channel of this type",
        "50083": "the thread is archived",
        "50278": "the person shares no server with the bot",
        "160005": "the thread is locked",
    }
)
"""In words, for those who read a turn's journal.

Source: Discord's documentation, "JSON error codes".
"""
