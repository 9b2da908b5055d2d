"""The endpoint that Discord sends interactions to, as a WSGI application."""

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import orjson

from turnkeeper.domain.redact import redact
from turnkeeper.interfaces.interactions.answer import AnswerPress, answer_interaction
from turnkeeper.interfaces.interactions.body import BadRequest, read_body
from turnkeeper.interfaces.interactions.payload import NotAnswered
from turnkeeper.interfaces.interactions.signature import SignatureCheck

log = logging.getLogger("turnkeeper.interactions")

OK = "200 OK"
BAD = "400 Bad Request"


class StartResponse(Protocol):
    """What a WSGI server gives to begin the answer with."""

    def __call__(self, status: str, headers: list[tuple[str, str]], /) -> object:
        """Say the status and the headers."""
        ...


class InteractionsApp:
    """Answers signed requests within the three seconds that Discord waits; never with a traceback.

    It answers at every path, so that it may be mounted anywhere. TLS is up to what stands before
    it. Any WSGI server serves it; one that hands over whole bodies, as waitress does, keeps slow
    senders from its threads.

    Args:
        check: Whether a request is Discord's; asked before anything is read of it.
        answer: What is answered to a press.
        with_modal: Whether long texts open a window; without, they come as a message.
    """

    def __init__(
        self, *, check: SignatureCheck, answer: AnswerPress, with_modal: bool = True
    ) -> None:
        self._check = check
        self._answer = answer
        self._with_modal = with_modal

    def __call__(
        self, environ: Mapping[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        """Serve one request."""
        status, said = self._served(environ)
        body = json.dumps(said).encode("ascii")
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        if status.startswith("405"):
            headers.append(("Allow", "POST"))
        start_response(status, headers)
        return [body]

    def _served(self, environ: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        try:
            return OK, self._answered(environ)
        except BadRequest as error:
            return error.status, {"error": str(error)}
        except NotAnswered as error:
            return BAD, {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - a traceback may show what nobody may see
            log.error("a press was not answered: %s: %s", type(error).__name__, redact(str(error)))
            return "500 Internal Server Error", {"error": "something went wrong here"}

    def _answered(self, environ: Mapping[str, Any]) -> dict[str, Any]:
        if environ.get("REQUEST_METHOD") != "POST":
            raise BadRequest("405 Method Not Allowed", "interactions are posted")
        signature = environ.get("HTTP_X_SIGNATURE_ED25519", "")
        timestamp = environ.get("HTTP_X_SIGNATURE_TIMESTAMP", "")
        if not signature or not timestamp:
            raise BadRequest("401 Unauthorized", "the request is not signed")
        body = read_body(environ)
        if not self._check.trusts(signature, timestamp, body):
            raise BadRequest("401 Unauthorized", "the signature does not hold")
        return answer_interaction(_parsed(body), self._answer, with_modal=self._with_modal)


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:  # also where it is nested too deeply
        raise BadRequest(BAD, "the body is no JSON") from None
