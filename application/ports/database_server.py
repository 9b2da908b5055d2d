"""The port to a database server that lives and ends with the program."""

from typing import Protocol


class DatabaseServer(Protocol):
    """A server that its users share: the first one starts it, the last one stops it.

    One thread of the process calls; several processes may at the same time.
    """

    def start(self) -> str:
        """Start the server, or join the one that runs already, and return its database's URL.

        Started already, it returns the same URL again.

        Raises:
            StoreUnavailable: It does not start; the message says why and what to do instead.
        """
        ...

    def stop(self) -> None:
        """Leave the server, and stop it if nobody else uses it. Not started, it does nothing.

        Raises:
            StoreUnavailable: It does not stop.
        """
        ...
