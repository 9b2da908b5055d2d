"""The pages on a socket."""

from turnkeeper.interfaces.container import Container
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.gate import Gate, check_host
from turnkeeper.interfaces.dashboard.pages import Pages, Sources
from turnkeeper.interfaces.interactions.server import InteractionsServer


def dashboard_server(
    sources: Sources,
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
    app = DashboardApp(Pages(sources), Gate(token))
    return InteractionsServer(app, host=host, port=port)


def sources_of(container: Container) -> Sources:
    """What the pages read of a turnkeeper."""
    return Sources(
        turns=container.list_turns(),
        pools=container.pools(),
        reports=container.reports(),
        clock=container.clock(),
    )
