import socket
from collections.abc import Callable
from typing import Any

import pytest

from turnkeeper.application.ports.runner import Stop
from turnkeeper.infrastructure.name_lookup import Found, NameLookup
from turnkeeper.infrastructure.threads import ThreadRunner, ThreadWork

ADDRESS = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 443))


class Resolver:
    """Finds one address for every name."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    def __call__(self, host: str, port: int, *, type: int) -> Found:
        self.asked.append((host, port, type))
        return (ADDRESS,)


@pytest.mark.parametrize("address", ["192.0.2.7", "2001:db8::7"])
def test_an_address_needs_no_look_up(address: str) -> None:
    resolver, told = Resolver(), list[Any]()
    NameLookup(resolve=resolver).ask(address, 443, told.append)

    (((_, _, _, _, (found, port, *_)),),) = told
    assert (found, port, resolver.asked) == (address, 443, [])


def test_a_name_is_looked_up_as_what_a_stream_is_opened_to() -> None:
    resolver, told = Resolver(), list[Any]()
    NameLookup(resolve=resolver).ask("api.test", 443, told.append)

    assert resolver.asked == [("api.test", 443, socket.SOCK_STREAM)]
    assert told == [(ADDRESS,)]


def test_it_is_looked_up_here_if_the_machine_has_no_thread_left() -> None:
    class Full(ThreadRunner):
        def start(self, work: Callable[[Stop], Any], name: str) -> ThreadWork[Any]:
            raise RuntimeError("can't start new thread")

    told = list[Any]()
    NameLookup(Full(), resolve=Resolver()).ask("api.test", 443, told.append)

    assert told == [(ADDRESS,)]
