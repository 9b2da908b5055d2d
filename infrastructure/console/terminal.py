"""The console of rich, with a broken pipe left to its caller."""

from rich.console import Console


class Terminal(Console):
    """Writes to a terminal, or to whatever takes its place."""

    def on_broken_pipe(self) -> None:
        """Let the error through: ending the program is not for a library to decide."""
        raise
