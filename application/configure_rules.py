"""Under which rules a server lends its models."""

from turnkeeper.application.configure_models import paired, sound
from turnkeeper.application.configure_server import ConfigureServer
from turnkeeper.domain.admission import CooldownRule, QuotaRule
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Sampling
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.domain.settings import SavedProvider, ServerSettings


class ConfigureRules(ConfigureServer):
    """A server's cooldowns, quota, filter policy and sampling."""

    def require_member_keys(self, server_id: str, required: bool) -> ServerSettings:
        """Let members use their own keys only, or lend them the server's models."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), member_keys_only=required))

    def set_cooldown(self, server_id: str, rule: CooldownRule) -> ServerSettings:
        """Set the server's message cooldown."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), cooldown=rule))

    def set_channel_cooldown(
        self, server_id: str, channel_id: str, rule: CooldownRule | None
    ) -> ServerSettings:
        """Set another cooldown for one channel and its threads; None takes that back."""
        with self._ports.changing:
            settings = self.server(server_id)
            rules = paired(settings.channel_cooldowns, channel_id, rule)
            return self._save_server(replace(settings, channel_cooldowns=rules))

    def set_quota(self, server_id: str, rule: QuotaRule) -> ServerSettings:
        """Set how many turns the server pays for."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), quota=rule))

    def set_content_filter(self, server_id: str, policy: ContentFilterPolicy) -> ServerSettings:
        """Say whether another model is asked where a provider refuses the content."""
        with self._ports.changing:
            return self._save_server(replace(self.server(server_id), content_filter=policy))

    def switch_tool(self, server_id: str, name: str, on: bool) -> ServerSettings:
        """Let models call a tool in a server's turns, or not.

        It holds for turns that members pay for as well, unless the server's models may not follow
        them: such turns ask nothing of the server. The name need not be known here: tools are the
        host's.
        """
        with self._ports.changing:
            settings = self.server(server_id)
            off = set(settings.tools_off) - {name} if on else {*settings.tools_off, name}
            return self._save_server(replace(settings, tools_off=tuple(sorted(off))))

    def set_sampling(
        self, server_id: str, sampling: Sampling, provider: str | None = None
    ) -> ServerSettings:
        """Set what the server's requests set.

        Args:
            provider: For this provider only, over what is set for all; None for all.
        """
        with self._ports.changing:
            settings = self.server(server_id)
            if provider is None:
                return self._save_server(replace(settings, sampling=sound(sampling)))
            name = self.find_provider(provider)
            rows = {row.provider: row for row in settings.providers}
            rows[name] = SavedProvider(provider=name, sampling=sound(sampling))
            by_name = tuple(rows[one] for one in sorted(rows))
            return self._save_server(replace(settings, providers=by_name))
