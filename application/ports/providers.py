"""Which chat providers there are."""

from typing import Protocol

from turnkeeper.application.ports.chat_provider import ChatProvider


class Providers(Protocol):
    """Finds providers by name. Safe to use from several threads."""

    def find(self, name: str) -> ChatProvider:
        """The provider of that name or alias; ``custom:N`` is served by ``custom``.

        Raises:
            SettingsError: There is none; the message lists what there is.
        """
        ...

    def canonical(self, name: str) -> str:
        """The name under which that provider's keys are kept, whichever alias is given.

        Raises:
            SettingsError: There is none.
        """
        ...
