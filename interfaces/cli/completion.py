"""The scripts with which a shell completes the commands."""

import click
from click.shell_completion import ShellComplete, get_completion_class

PROGRAM = "turnkeeper"
VARIABLE = "_TURNKEEPER_COMPLETE"
"""By this the script asks the program what may follow."""


@click.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes turnkeeper's commands.

    \b
    bash: turnkeeper completion bash > ~/.local/share/bash-completion/completions/turnkeeper
    zsh:  turnkeeper completion zsh > a file called _turnkeeper in a folder of $fpath
    fish: turnkeeper completion fish > ~/.config/fish/completions/turnkeeper.fish
    """
    speaks = get_completion_class(shell)
    assert speaks is not None
    writes = speaks(context.find_root().command, {}, PROGRAM, VARIABLE)
    # Not the class's own, which for bash asks this machine's bash for its version first.
    click.echo(ShellComplete.source(writes))
