"""What Discord refuses with: status, code and words."""

from collections.abc import Iterable
from typing import Any

from turnkeeper.domain.frozen import frozen

Place = tuple[str | int, ...]


@frozen
class FormError:
    """One fault of a form.

    Attributes:
        place: Names and positions that lead to the field; empty for the whole request.
    """

    place: Place
    code: str
    message: str


@frozen
class Problem:
    """One refusal."""

    status: int
    code: int
    message: str
    errors: tuple[FormError, ...] = ()

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of it."""
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = _nested(self.errors)
        return body


class Refused(Exception):
    """A call was refused; the desk answers with the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refuse_form(errors: Iterable[FormError]) -> None:
    """Refuse if there is any error.

    Raises:
        Refused: There is one.
    """
    found = tuple(errors)
    if found:
        raise Refused(Problem(status=400, code=50035, message="Invalid Form Body", errors=found))


def _nested(errors: tuple[FormError, ...]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for error in errors:
        at = root
        for step in error.place:
            at = at.setdefault(str(step), {})
        at.setdefault("_errors", []).append({"code": error.code, "message": error.message})
    return root


NOT_FOUND = Problem(status=404, code=0, message="404: Not Found")
METHOD_NOT_ALLOWED = Problem(status=405, code=0, message="405: Method Not Allowed")
UNKNOWN_CHANNEL = Problem(status=404, code=10003, message="Unknown Channel")
UNKNOWN_MESSAGE = Problem(status=404, code=10008, message="Unknown Message")
UNKNOWN_WEBHOOK = Problem(status=404, code=10015, message="Unknown Webhook")
UNKNOWN_INTERACTION = Problem(status=404, code=10062, message="Unknown interaction")
TOO_MANY_WEBHOOKS = Problem(
    status=400, code=30007, message="Maximum number of webhooks reached (15)"
)
UNAUTHORIZED = Problem(
    status=401, code=40001, message="Unauthorized. Provide a valid token and try again"
)
ACKNOWLEDGED = Problem(status=400, code=40060, message="Interaction has already been acknowledged.")
BLOCKED_AGENT = Problem(status=403, code=40333, message="internal network error")
MISSING_ACCESS = Problem(status=403, code=50001, message="Missing Access")
NOT_IN_DM = Problem(status=403, code=50003, message="Cannot execute action on this channel type")
NOT_THE_AUTHOR = Problem(
    status=403, code=50005, message="Cannot edit a message authored by another user"
)
EMPTY_MESSAGE = Problem(status=400, code=50006, message="Cannot send an empty message")
MISSING_PERMISSIONS = Problem(status=403, code=50013, message="Missing Permissions")
INVALID_TOKEN = Problem(status=401, code=50014, message="Invalid authentication token")
WRONG_COUNT = Problem(
    status=400,
    code=50016,
    message="Provided too few or too many messages to delete. "
    "Must provide at least 2 and fewer than 100 messages to delete",
)
INVALID_WEBHOOK_TOKEN = Problem(status=401, code=50027, message="Invalid Webhook Token")
TOO_OLD = Problem(status=400, code=50034, message="A message provided was too old to bulk delete")
INVALID_VERSION = Problem(status=400, code=50041, message="Invalid API version provided")
THREAD_ARCHIVED = Problem(status=400, code=50083, message="Thread is archived")
INVALID_JSON = Problem(status=400, code=50109, message="The request body contains invalid JSON.")
NO_HISTORY = Problem(
    status=403, code=160002, message="Cannot reply without permission to read message history"
)
# Which status belongs to it is documented nowhere.
THREAD_LOCKED = Problem(status=400, code=160005, message="Thread is locked")
