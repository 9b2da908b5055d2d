"""What goes wrong between this side and Discord.

SinkError
├── DiscordError          Discord refused, with a code
│   └── Unreachable       ... and nobody can be reached there; also a DestinationGone
│       └── BadBotToken   ... nor anywhere else
├── Lost                  no usable reply came; nothing is there
│   └── Unclear           ... or it is there all the same: nobody can tell
├── Halted                not sent, as Discord or a budget forbids it for now
├── WaitTooLong           not sent, as a wait would outlast its deadline
└── NothingToShow         not sent, as nobody would see anything
"""

from turnkeeper.domain.errors import DestinationGone, SinkError


class DiscordError(SinkError):
    """Discord refused a call.

    Attributes:
        status: The HTTP status.
        code: Discord's own code, such as ``10008``; ``0`` where it gave none. A text, so that it
            is never mistaken for a provider's number.
        message: Discord's words, without secrets.
        fields: The fields that it complains of, each with its code.
    """

    def __init__(
        self,
        *,
        route: str,
        status: int,
        code: str,
        message: str,
        fields: tuple[tuple[str, str], ...] = (),
    ) -> None:
        named = "".join(f"; {name}: {why}" for name, why in fields[:5])
        SinkError.__init__(
            self,
            f"Discord refused {route}: {message or 'no reason given'} ({status}/{code}){named}",
        )
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields


class Unreachable(DiscordError, DestinationGone):
    """Nobody can be reached in the channel, now or with another model."""


class BadBotToken(Unreachable):
    """Discord does not know the bot's token; no call with it is tried again."""


class Lost(SinkError):
    """No reply of any use came, and what was asked for has not happened."""


class Unclear(Lost):
    """No reply of any use came, and what was asked for may have happened."""


class Halted(SinkError):
    """Nothing was sent: Discord blocks this side, or soon would."""


class WaitTooLong(SinkError):
    """Nothing was sent: the wait that it needs does not fit its deadline."""


class NothingToShow(SinkError):
    """Nothing was sent: the message has no visible character."""
