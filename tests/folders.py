"""Folders for database servers of the tests."""

import tempfile
from pathlib import Path


def make_passable_folder() -> Path:
    """Make a folder with a short name that root's database account can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="tk-", dir="/tmp"))
    folder.chmod(0o711)
    return folder
