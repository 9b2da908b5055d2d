"""The command line.

Reading order: `program` (the commands and how they fail), `installation` (what they work on),
`present` (how they print), then one module for each group of commands.
"""

from turnkeeper.interfaces.cli.program import main

__all__ = ["main"]
