"""The check of addresses that people name: only what anybody on the internet may reach."""

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from turnkeeper.application.ports.runner import Runner, StillRunning, Stop
from turnkeeper.domain.address import Address, unfit_as
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.http_errors import HttpError, HttpErrorKind
from turnkeeper.infrastructure.url_place import UrlPlace, place_of, read_place

LOOKUP_LIMIT_S = 5.0

Found = Sequence[tuple[Any, ...]]  # as socket.getaddrinfo returns it
Resolve = Callable[..., Found]

_INSIDE = ("localhost", "local", "internal", "home.arpa")
_WAY_OUT = "give a public address, or let the operator allow this host"


class AddressCheck:
    """Finds the IP address to connect to, and refuses those inside of somebody's network.

    The name is looked up once, and all that it stands for must be fit: connecting to what is
    returned, and not to the name, leaves nothing to change in between. Safe to use from several
    threads.

    Args:
        allowed_hosts: Hosts that the operator vouches for, as ``host`` or ``host:port``; an IPv6
            address with a port stands in brackets. They may be anywhere.
        resolve: Looks a name up, as `socket.getaddrinfo` does.
        runner: Where names are looked up, as that can hang. Without it, it is done in the calling
            thread and takes as long as it takes.
        lookup_limit_s: The longest wait for a name. What then still hangs is left to itself.

    Raises:
        SettingsError: An allowed host is not written as one.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str] = (),
        resolve: Resolve = socket.getaddrinfo,
        runner: Runner | None = None,
        lookup_limit_s: float = LOOKUP_LIMIT_S,
    ) -> None:
        self._allowed = frozenset(_allowed_place(host) for host in allowed_hosts)
        self._resolve = resolve
        self._runner = runner
        self._lookup_limit_s = lookup_limit_s

    def __call__(self, url: str) -> str:
        """Return the IP address to connect to.

        Raises:
            HttpError: The address is refused, with kind ``BAD_REQUEST_VALUE``; or its name is not
                found in time, with kind ``DNS``.
            Closed: The runner was closed.
        """
        place = place_of(url)
        is_allowed = self._is_allowed(place)
        if not is_allowed:
            _check_name(place)
        addresses = self._addresses(place)
        if not is_allowed:
            _check_addresses(place, addresses)
        return str(_preferred(addresses))

    def _is_allowed(self, place: UrlPlace) -> bool:
        return place in self._allowed or replace(place, port=None) in self._allowed

    def _addresses(self, place: UrlPlace) -> tuple[Address, ...]:
        if place.ip is not None:
            return (place.ip,)
        found: Found = ()
        with suppress(OSError, ValueError):  # it has no address, or is no name to the resolver
            found = self._looked_up(place)
        addresses = tuple(ip_address(one[4][0]) for one in found)
        if not addresses:
            raise HttpError(HttpErrorKind.DNS, f"the name of {place.shown} does not resolve")
        return addresses

    def _looked_up(self, place: UrlPlace) -> Found:
        def look_up(stop: Stop | None = None) -> Found:
            return self._resolve(place.host, place.port, type=socket.SOCK_STREAM)

        if self._runner is None:
            return look_up()
        work = self._runner.start(look_up, "address-check")
        with suppress(StillRunning):
            return work.result(self._lookup_limit_s)
        work.abandon(0)
        limit = f"{self._lookup_limit_s:g} s"
        raise HttpError(HttpErrorKind.DNS, f"looking up {place.shown} took more than {limit}")


def _allowed_place(text: str) -> UrlPlace:
    place = read_place(text, None) or read_place(f"[{text}]", None)
    if place is None:
        raise SettingsError(
            f"allowed host {text!r} is neither a host nor host:port; write it as in an address"
        )
    return place


def _preferred(addresses: Sequence[Address]) -> Address:
    """The resolver's first choice; of this very machine's IPv4's, as most servers hear only it."""
    if all(address.is_loopback for address in addresses):
        return min(addresses, key=lambda address: address.version)
    return addresses[0]


def _check_name(place: UrlPlace) -> None:
    """Return if it may be looked up, which a name of some inside may not even be.

    Raises:
        HttpError: It may not.
    """
    is_inside = any(f".{place.host}".endswith(f".{inside}") for inside in _INSIDE)
    if place.ip is None and (is_inside or "." not in place.host):
        raise _refused(f"{place.shown} is a name of an internal network; {_WAY_OUT}")


def _check_addresses(place: UrlPlace, addresses: Iterable[Address]) -> None:
    """Return if all of them are public.

    Raises:
        HttpError: One is not.
    """
    for address in addresses:
        if kind := unfit_as(address):
            # Not which one: who may not go there is not told either what is there.
            raise _refused(f"{place.shown} is at a {kind} address; {_WAY_OUT}")


def _refused(message: str) -> HttpError:
    return HttpError(HttpErrorKind.BAD_REQUEST_VALUE, message)
