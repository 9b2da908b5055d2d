"""What Prometheus asks for."""

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import tell

LOOPBACK = "127.0.0.1"


@click.group()
def metrics() -> None:
    """Show Prometheus what turns do."""


@metrics.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=9464, show_default=True)
@click.pass_obj
def serve(installation: Installation, /, port: int) -> None:
    """Serve the metrics of all processes on loopback, read from the journal.

    Turns count from the start of the command on, once they are over.
    """
    from turnkeeper.infrastructure.telemetry.journal_follower import JournalFollower
    from turnkeeper.interfaces.interactions.server import InteractionsServer
    from turnkeeper.interfaces.telemetry import app_of

    with installation.container() as container:
        container.schema()
        follow = JournalFollower(container.journal(), container.counts())
        follow()
        app = app_of(container.metrics_registry(), before=follow)
        server = InteractionsServer(app, host=LOOPBACK, port=port)
        tell(f"listening on {server.url}/metrics")
        server.run()
