"""The folder in which turnkeeper keeps what it has to keep on this machine."""

import os
from pathlib import Path

import platformdirs

CLOSED = 0o700
# Others may pass through, but not look around: the database runs under an account of its own.
PASSABLE = 0o711


def default_data_folder() -> Path:
    """Return the user's own data folder, for root a system folder.

    Root's home is closed to the account under which root's database runs, and opening it would
    harm; `/var/lib/turnkeeper` is nobody else's.
    """
    if _is_root():
        return Path("/var/lib/turnkeeper")
    return Path(platformdirs.user_data_dir("turnkeeper", appauthor=False))


def make_folder(folder: Path) -> None:
    """Make the folder and the missing ones above it; what is there already stays as it is.

    Raises:
        OSError: It cannot be made.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(PASSABLE if _is_root() else CLOSED)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
