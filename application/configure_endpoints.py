"""Addresses that owners named."""

from turnkeeper.application.configure_models import ENDPOINT, sound_address, sound_label
from turnkeeper.application.configure_personal import ConfigurePersonal
from turnkeeper.application.configure_rules import ConfigureRules
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner, OwnerKind
from turnkeeper.domain.plan import EndpointEntry


class ConfigureEndpoints(ConfigureRules, ConfigurePersonal):
    """OpenAI-compatible addresses of servers and users."""

    def save_endpoint(self, owner: Owner, endpoint: Endpoint) -> Endpoint:
        """Add an endpoint (id 0) or replace the one of that id; returns it with its id.

        Its key is saved for provider ``custom:N``, N being its connection's number.
        """
        sound_label(endpoint.label)
        sound_address(endpoint.base_url)
        saved = self._ports.editor.save_endpoint(owner, endpoint)
        self._ports.known.forget(owner)
        return saved

    def remove_endpoint(self, owner: Owner, endpoint_id: int) -> None:
        """Remove an endpoint; one that is still used is refused."""
        with self._ports.changing:
            if endpoint_id in self._used(owner):
                raise SettingsError(
                    f"{owner} still uses {ENDPOINT}{endpoint_id};"
                    " choose other models first, then remove it"
                )
            if not self._ports.editor.remove_endpoint(owner, endpoint_id):
                raise SettingsError(f"{owner} has no {ENDPOINT}{endpoint_id}")
            self._ports.known.forget(owner)

    def _used(self, owner: Owner) -> frozenset[int]:
        """The numbers of the owner's endpoints that are the primary model or in a chain."""
        if owner.kind is OwnerKind.SERVER:
            server = self.server(owner.id)
            entries = (server.primary, *server.chain)
            rows = server.providers
        else:
            personal = self.personal(owner.id)
            entries = personal.chain
            rows = personal.providers
        named = {entry.endpoint.id for entry in entries if isinstance(entry, EndpointEntry)}
        return frozenset(named | {row.endpoint.id for row in rows if row.endpoint is not None})
