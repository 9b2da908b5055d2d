"""How the addresses of a name are found, without whoever asks being held up."""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from turnkeeper.application.ports.runner import Runner
from turnkeeper.domain.errors import Closed

Found = Sequence[tuple[Any, ...]]  # as socket.getaddrinfo returns it
Tell = Callable[[Found | Exception], None]


class NameLookup:
    """Looks names up. Safe to use from several threads.

    Args:
        runner: Where it is done, as it can hang and nothing ends it. Without one it is done in the
            calling thread and takes as long as it takes.
        resolve: Does it, as `socket.getaddrinfo`.
    """

    def __init__(
        self,
        runner: Runner | None = None,
        *,
        resolve: Callable[..., Found] = socket.getaddrinfo,
    ) -> None:
        self._runner = runner
        self._resolve = resolve

    def ask(self, host: str, port: int, tell: Tell) -> None:
        """Look a host up, and tell at some time what was found, or what went wrong.

        Args:
            host: A name, or an IP address: what that stands for is told at once.
            tell: Called in any thread.
        """
        if found := _address_in(host, port):
            tell(found)
        elif self._runner is None:
            self._look_up(host, port, tell)
        else:
            self._look_up_aside(self._runner, host, port, tell)

    def _look_up_aside(self, runner: Runner, host: str, port: int, tell: Tell) -> None:
        try:
            runner.start(lambda _: self._look_up(host, port, tell), "name-lookup")
        except Closed:
            tell(ConnectionError("no name is looked up any more"))
        except RuntimeError:  # the machine has no thread left
            self._look_up(host, port, tell)

    def _look_up(self, host: str, port: int, tell: Tell) -> None:
        answer: Found | Exception
        try:
            answer = self._resolve(host, port, type=socket.SOCK_STREAM)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
            answer = error
        tell(answer)


def _address_in(host: str, port: int) -> Found:
    with suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return ()
