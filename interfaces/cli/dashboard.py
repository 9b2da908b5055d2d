"""The pages for operators."""

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import tell

LOOPBACK = "127.0.0.1"


@click.command()
@click.option("--host", default=LOOPBACK, show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=8787, show_default=True)
@click.pass_obj
def dashboard(installation: Installation, /, host: str, port: int) -> None:
    """Show what turns did as web pages, which only read.

    Where others reach --host, TURNKEEPER_DASHBOARD_TOKEN has to be set.
    """
    from turnkeeper.interfaces.dashboard.gate import check_host
    from turnkeeper.interfaces.dashboard.served import dashboard_server, sources_of

    token = installation.settings.dashboard_token
    check_host(host, token)
    with installation.container() as container:
        container.schema()
        server = dashboard_server(sources_of(container), token=token, host=host, port=port)
        tell(f"listening on {server.url}")
        server.run()
