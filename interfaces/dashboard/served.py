"""The pages on a socket."""

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyVault
from turnkeeper.application.ports.reports import Reports
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.gate import Gate, check_host
from turnkeeper.interfaces.dashboard.pages import Pages
from turnkeeper.interfaces.interactions.server import InteractionsServer


def dashboard_server(
    reports: Reports,
    keys: KeyVault,
    clock: Clock,
    *,
    token: str | None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> InteractionsServer:
    """A server of the pages, which listens.

    Raises:
        SettingsError: It cannot listen there, or may not without a token.
    """
    check_host(host, token)
    app = DashboardApp(Pages(reports, keys, clock), Gate(token))
    return InteractionsServer(app, host=host, port=port)
