"""The endpoint for Discord's interactions."""

from typing import TYPE_CHECKING

import click

from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.present import tell

if TYPE_CHECKING:  # imported where they are used, so that help is there at once
    from turnkeeper.interfaces.container import Container
    from turnkeeper.interfaces.interactions.app import InteractionsApp


@click.group()
def interactions() -> None:
    """Answer the presses of buttons under Discord messages."""


@interactions.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True)
@click.option(
    "--public-key",
    envvar="TURNKEEPER_DISCORD_PUBLIC_KEY",
    required=True,
    show_envvar=True,
    help="The application's, from Discord's developer portal.",
)
@click.option("--no-modals", is_flag=True, help="Show details as messages, not in a window.")
@click.pass_obj
def serve(
    installation: Installation, /, host: str, port: int, public_key: str, no_modals: bool
) -> None:
    """Serve the endpoint over plain HTTP; Discord wants TLS, from what stands before it."""
    from turnkeeper.interfaces.interactions.server import InteractionsServer

    with installation.container() as container:
        app = app_of(container, public_key=public_key, with_modal=not no_modals)
        container.schema()
        server = InteractionsServer(app, host=host, port=port)
        tell(f"listening on {server.url}")
        server.run()


def app_of(container: "Container", *, public_key: str, with_modal: bool) -> "InteractionsApp":
    """The endpoint, on the parts of a container."""
    from turnkeeper.interfaces.interactions.app import InteractionsApp
    from turnkeeper.interfaces.interactions.signature import SignatureCheck

    check = SignatureCheck(public_key, clock=container.clock())
    answer = container.answer_press()
    return InteractionsApp(check=check, answer=answer, with_modal=with_modal)
