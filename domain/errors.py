"""The exceptions that cross a port or the public surface.

    TurnkeeperError
    ├── SettingsError        a setting is missing or makes no sense
    ├── StoreError           the store refused or could not do it
    │   └── StoreUnavailable the store cannot be reached just now
    ├── JournalFileError     a file holds no journal that can be read
    ├── VaultError           a stored secret does not open
    ├── SinkError            the place where the turn speaks refused
    │   └── DestinationGone  ... and will go on refusing: nobody can be reached there
    ├── Busy                 too many turns are running
    ├── Closed               the turnkeeper was closed
    ├── AlreadyRunning       the same turn is being run elsewhere
    ├── TurnFailed           raised to the caller where nobody else may be told
    └── StepLimitExceeded    a bug: the state machine did not end

An expected failure of a provider is a value (`domain.failure.Failure`), not an exception.
"""


class TurnkeeperError(Exception):
    """Any error of this library."""


class SettingsError(TurnkeeperError):
    """A setting is missing or makes no sense."""


class StoreError(TurnkeeperError):
    """The store refused, or could not do it."""


class StoreUnavailable(StoreError):
    """The store cannot be reached just now; the same call may go through later."""


class JournalFileError(TurnkeeperError):
    """A file holds no journal that this version can read."""


class VaultError(TurnkeeperError):
    """A stored secret does not open."""


class SinkError(TurnkeeperError):
    """The place where the turn speaks did not take the message."""


class DestinationGone(SinkError):
    """Nobody can be reached at the turn's destination, now or with another model.

    Attributes:
        code: The destination's own code, such as Discord's 10003; a text, so that it is never
            mistaken for a provider's number.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class Busy(TurnkeeperError):
    """As many turns as allowed are running, and none ended in time."""


class Closed(TurnkeeperError):
    """The turnkeeper was closed and takes no new turns."""


class AlreadyRunning(TurnkeeperError):
    """The same turn (trigger, persona, retry) is being run by another call or process."""


class TurnFailed(TurnkeeperError):
    """A turn ended without an answer and there is nobody else to tell.

    Attributes:
        status: How the turn ended.
    """

    def __init__(self, message: str, *, status: str) -> None:
        super().__init__(message)
        self.status = status


class StepLimitExceeded(TurnkeeperError):
    """The turn's state machine did not come to an end: a bug, kept from looping for ever."""
