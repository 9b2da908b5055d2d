"""What went wrong with a call to a provider, as a failure.

For all adapters of providers: one place where foreign errors are turned into values.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import orjson

from turnkeeper.domain.error_report import read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.redact import redact
from turnkeeper.domain.signals import recognise
from turnkeeper.infrastructure.http import HttpError, HttpErrorKind

_KINDS = {
    HttpErrorKind.READ_TIMEOUT: FailureKind.TIMEOUT,
    HttpErrorKind.BAD_REQUEST_VALUE: FailureKind.BAD_REQUEST,
    HttpErrorKind.BAD_REPLY: FailureKind.SERVER_ERROR,
    HttpErrorKind.TOO_LARGE: FailureKind.SERVER_ERROR,
}


def http_failure(error: HttpError, *, provider: str, secrets: Iterable[str] = ()) -> Failure:
    """The failure of a call that brought no reply, or not all of it."""
    return Failure(
        kind=_KINDS.get(error.kind, FailureKind.NETWORK),
        message=redact(str(error), secrets, limit=600),
        provider=provider,
        rule=f"http-{error.kind.value.replace('_', '-')}",
        evidence=f"http={error.kind.value}",
    )


def reply_failure(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str,
    now: datetime,
    secrets: Iterable[str] = (),
) -> Failure:
    """The failure that a reply with an error status describes."""
    report = read_error(
        parsed(body), provider=provider, status=status, headers=tuple(headers.items())
    )
    return recognise(report, now=now, secrets=secrets)


def parsed(body: bytes) -> object:
    """A body's JSON, or its text where it is none."""
    try:
        return orjson.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
