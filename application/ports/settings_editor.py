"""Where servers' and users' settings are changed."""

from typing import Protocol

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.model import Endpoint, Model
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.settings import FallbackRef, PersonalSettings, ServerSettings


@frozen
class WholeOwner:
    """All that an owner has set, to be written at once.

    Attributes:
        settings: With the version they were read with; 0 replaces whatever is there.
        primary: A server's primary model, as a reference.
        chain: The fallbacks, as references.
        endpoints: All that the owner has; each id is the owner's own or a new one.
        models: What is registered with it.
    """

    settings: ServerSettings | PersonalSettings
    primary: FallbackRef | None = None
    chain: tuple[FallbackRef, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    models: tuple[Model, ...] = ()

    @property
    def owner(self) -> Owner:
        """Whose settings they are."""
        if isinstance(self.settings, ServerSettings):
            return Owner.server(self.settings.server_id)
        return Owner.user(self.settings.user_id)


class SettingsEditor(Protocol):
    """Writes settings, whole values at a time; each write raises the owner's version.

    Holds no rules: what may be set is decided by `application.configure`. Settings that carry the
    version they were read with are written only if it is still the stored one, so that nobody
    undoes a change that was made meanwhile; version 0 replaces whatever is there.

    Raises:
        StoreError: From every method: nothing was written.
    """

    def save_model(self, model: Model) -> None:
        """Register a model, or replace the one of the same id.

        A model that is new or changed raises the versions of all owners that refer to it.
        """
        ...

    def models(self) -> tuple[Model, ...]:
        """All registered models, by id."""
        ...

    def remove_model(self, model_id: str) -> bool:
        """Forget a model; False if there was none.

        References to it lead nowhere then, and the versions of their owners rise.
        """
        ...

    def owners(self, *, using: str | None = None) -> tuple[Owner, ...]:
        """All that have ever set anything, in the order of their written form.

        Args:
            using: Those only whose settings refer to the model of this id.
        """
        ...

    def save_server(
        self,
        settings: ServerSettings,
        *,
        primary: FallbackRef | None,
        chain: tuple[FallbackRef, ...],
    ) -> None:
        """Replace a server's settings; its models are given as references."""
        ...

    def save_personal(self, settings: PersonalSettings, *, chain: tuple[FallbackRef, ...]) -> None:
        """Replace a user's settings, its provider rows included."""
        ...

    def save_endpoint(self, owner: Owner, endpoint: Endpoint) -> Endpoint:
        """Add an endpoint (id 0) or replace the one of that id; returns it with its id.

        An id is never given twice.

        Raises:
            StoreError: The owner has none of that id.
        """
        ...

    def endpoints(self, owner: Owner) -> tuple[Endpoint, ...]:
        """The owner's endpoints, by id."""
        ...

    def remove_endpoint(self, owner: Owner, endpoint_id: int) -> bool:
        """Remove an endpoint; False if there was none."""
        ...

    def new_endpoint_id(self) -> int:
        """An id that no endpoint has had, and that is not given again."""
        ...

    def replace_owner(self, whole: WholeOwner) -> None:
        """Write all of an owner; endpoints that are not named are removed. One transaction."""
        ...
