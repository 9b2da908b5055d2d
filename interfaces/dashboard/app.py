"""The pages as a WSGI application."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from turnkeeper.domain.errors import StoreError
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.redact import redact
from turnkeeper.interfaces.dashboard.gate import Gate
from turnkeeper.interfaces.dashboard.pages import NotFound, Pages, message, sign_in
from turnkeeper.interfaces.dashboard.render import style_source
from turnkeeper.interfaces.interactions.app import StartResponse
from turnkeeper.interfaces.interactions.body import BadRequest, read_body

log = logging.getLogger("turnkeeper.dashboard")

TURN = "/turns/"
SIGN_IN = "/sign-in"
READING = ("GET", "HEAD")
MOST_FIELDS = 20

Header = tuple[str, str]


@frozen
class Answer:
    """What is sent back.

    Attributes:
        status: As HTTP writes it, such as ``200 OK``.
        page: The whole page.
        headers: Besides those that each page has.
    """

    status: str = "200 OK"
    page: str = ""
    headers: tuple[Header, ...] = ()


class DashboardApp:
    """Shows the pages, wherever it is mounted; never a traceback. It changes nothing."""

    def __init__(self, pages: Pages, gate: Gate) -> None:
        self._pages = pages
        self._gate = gate

    def __call__(
        self, environ: Mapping[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        """Serve one request."""
        answer = self._answered(environ)
        body = answer.page.encode()
        length = ("Content-Length", str(len(body)))
        start_response(answer.status, [*_always(), length, *answer.headers])
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [body]

    def _answered(self, environ: Mapping[str, Any]) -> Answer:
        base = environ.get("SCRIPT_NAME", "").rstrip("/")
        try:
            return self._served(environ, base)
        except NotFound as error:
            return _said(base, "404 Not Found", "Not found", str(error))
        except BadRequest as error:
            return _said(base, error.status, "Not understood", str(error))
        except StoreError as error:
            log.error("a page could not be read: %s", redact(str(error)))
            return _said(base, "503 Service Unavailable", "The store is away", str(error))
        except Exception as error:  # noqa: BLE001 - a traceback may show what nobody may see
            log.error("a page failed: %s: %s", type(error).__name__, redact(str(error)))
            text = "This page could not be made. The log of the dashboard says why."
            return _said(base, "500 Internal Server Error", "Something went wrong", text)

    def _served(self, environ: Mapping[str, Any], base: str) -> Answer:
        method, path = environ.get("REQUEST_METHOD", ""), environ.get("PATH_INFO", "") or "/"
        if self._gate.wants_token and path == SIGN_IN and method == "POST":
            return self._signed_in(environ, base)
        if method not in READING:
            page = message(base, "Only to be read", "Nothing can be changed here.")
            allow = (("Allow", ", ".join(READING)),)
            return Answer(status="405 Method Not Allowed", page=page, headers=allow)
        if not self._gate.is_open_to(environ):
            return self._shut(base)
        return Answer(page=self._page(path, _fields(environ.get("QUERY_STRING", "")), base))

    def _page(self, path: str, query: Mapping[str, str], base: str) -> str:
        if path.startswith(TURN) and len(path) > len(TURN):
            # WSGI hands paths over as bytes in the guise of Latin-1.
            turn_id = path[len(TURN) :].encode("latin-1", "replace").decode("utf-8", "replace")
            return self._pages.turn(_storable(turn_id), base)
        match path:
            case "/" | "/sign-in":
                return self._pages.turns(query, base)
            case "/pool":
                return self._pages.pool(query, base)
            case "/rates":
                return self._pages.rates(query, base)
            case _:
                raise NotFound("There is no page at this address.")

    def _shut(self, base: str) -> Answer:
        if self._gate.wants_token:
            asks = (("WWW-Authenticate", 'Bearer realm="turnkeeper"'),)
            return Answer(
                status="401 Unauthorized", page=sign_in(base, was_wrong=False), headers=asks
            )
        text = "Without a token the dashboard answers only at http://127.0.0.1 or http://localhost."
        return _said(base, "403 Forbidden", "Not from here", text)

    def _signed_in(self, environ: Mapping[str, Any], base: str) -> Answer:
        fields = _fields(read_body(environ).decode("utf-8", "replace"))
        if not self._gate.knows(fields.get("token", "")):
            return Answer(status="403 Forbidden", page=sign_in(base, was_wrong=True))
        is_secure = environ.get("wsgi.url_scheme") == "https"
        cookie = self._gate.cookie(secure=is_secure, path=base)
        return Answer(
            status="303 See Other", headers=(("Location", f"{base}/"), ("Set-Cookie", cookie))
        )


def _always() -> list[Header]:
    policy = (
        f"default-src 'none'; style-src {style_source()}; form-action 'self';"
        " frame-ancestors 'none'; base-uri 'none'"
    )
    return [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Security-Policy", policy),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ]


def _said(base: str, status: str, title: str, text: str) -> Answer:
    return Answer(status=status, page=message(base, title, text))


def _fields(text: str) -> dict[str, str]:
    try:
        fields = parse_qsl(text, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise BadRequest("400 Bad Request", "There are too many fields.") from None
    return {name: _storable(value) for name, value in fields}


def _storable(text: str) -> str:
    """The text, if a store could hold it."""
    if "\0" in text:
        raise BadRequest("400 Bad Request", "There is a NUL in what was asked for.")
    return text
