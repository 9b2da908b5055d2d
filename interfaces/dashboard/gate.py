"""Who may see the pages."""

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any

from turnkeeper.domain.errors import SettingsError

COOKIE = "turnkeeper_dashboard"
MEANING = b"turnkeeper dashboard"
VARIABLE = "TURNKEEPER_DASHBOARD_TOKEN"


class Gate:
    """Lets whoever has the token in; without a token, whoever asks from this machine.

    Args:
        token: What has to be known, or None.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token

    def is_open_to(self, environ: Mapping[str, Any]) -> bool:
        """Whether the request may see the pages."""
        if self._token is None:
            # A page of somebody else's, under a name that leads here, is not to read along.
            return is_loopback(_name_of(environ.get("HTTP_HOST", "")))
        scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() == "bearer" and self.knows(given.strip()):
            return True
        return _same(_cookie_of(environ), self._pass())

    @property
    def wants_token(self) -> bool:
        """Whether there is a token to know."""
        return self._token is not None

    def knows(self, token: str) -> bool:
        """Whether it is the token."""
        return self._token is not None and _same(token, self._token)

    def cookie(self, *, secure: bool, path: str) -> str:
        """What a browser keeps, in the token's place, until it is closed."""
        attributes = f"Path={path or '/'}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
        return f"{COOKIE}={self._pass()}; {attributes}"

    def _pass(self) -> str:
        assert self._token is not None
        return hmac.new(self._token.encode(), MEANING, "sha256").hexdigest()


def check_host(host: str, token: str | None) -> None:
    """Whether the pages may be served there.

    Raises:
        SettingsError: Others could see them, and need not know anything.
    """
    if token is None and not is_loopback(host):
        raise SettingsError(
            f"the dashboard is not served on {host} without a token;"
            f" set {VARIABLE} to a long random text, or leave --host out"
        )


def is_loopback(host: str) -> bool:
    """Whether a name or an address means this machine and is not seen from any other."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] or host


def _cookie_of(environ: Mapping[str, Any]) -> str:
    try:
        kept = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(COOKIE)
    except CookieError:
        return ""
    return kept.value if kept is not None else ""


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), known.encode())
