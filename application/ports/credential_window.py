"""What a credential's plan lets its models take."""

from typing import Protocol

from turnkeeper.domain.secret import Secret


class CredentialWindow(Protocol):
    """Knows the window that a key's plan pays for. Safe to use from several threads."""

    def window_tokens(self, key: Secret, model: str) -> int:
        """The model's window with that key, in tokens; a safe small one where nobody can say.

        May ask the provider once and wait for it, for a few seconds; never raises.
        """
        ...
