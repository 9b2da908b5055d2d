"""The data of an embedded Postgres server, and the server that runs on it."""

import hashlib
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from turnkeeper.infrastructure.postgres.postmaster import (
    PORT,
    SOCKET_PATH_BYTES,
    Postmaster,
    socket_path,
)
from turnkeeper.infrastructure.postgres.programs import (
    PACKAGE,
    Account,
    ProgramFailed,
    Programs,
    account_for,
    reason,
    wheel_folder,
)

USER = "turnkeeper"
# The folder carries the major version, since another one cannot read the data.
DATA = "18"
LOG = "server.log"
SOCKET_PREFIX = "turnkeeper-socket-"
MAKE_S = 120
START_S = 60
STOP_S = 60
SETTLE_S = 15
POLL_S = 0.05
# pg_ctl writes paths into a shell command, between double quotes.
UNSPEAKABLE = '"$`\n'

# The builtin locale needs none of the machine's; trust is safe behind a closed socket folder.
MAKING = (
    *("--username", USER, "--auth", "trust", "--encoding", "UTF8"),
    *("--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
)
SETTINGS = MappingProxyType(
    {
        "max_connections": "200",
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # The details of an error repeat values of the row.
        "log_error_verbosity": "terse",
    }
)


class Cluster:
    """One folder of data and its server. Who calls makes sure that nobody else does meanwhile.

    Every method raises ProgramFailed or OSError where it cannot do it.

    Attributes:
        folder: Holds the data in a folder of its own, beside what else the server needs.
        settings: Settings of Postgres, on top of ours.
        wheel: Where the Postgres wheel is installed, if not where Python finds it.
    """

    def __init__(
        self, folder: Path, *, settings: Mapping[str, str], wheel: Path | None = None
    ) -> None:
        self._folder = folder
        self._data = folder / DATA
        self._settings = {**SETTINGS, **settings}
        self._wheel = wheel

    def serve(self) -> Path:
        """Return the folder of the running server's socket; the server is started at need."""
        server = self._found() or self._started()
        assert server.socket_folder is not None
        return server.socket_folder

    def halt(self) -> None:
        """Stop the server, if it runs on this machine; its clients are cut off."""
        server = Postmaster.on(self._data)
        if server is not None and server.lives():
            stop = ("stop", "-D", str(self._data), "-m", "fast", "-w", "-t", str(STOP_S))
            self._programs().run("pg_ctl", *stop, timeout_s=STOP_S + 10)
            folder = server.socket_folder
            if folder is not None and folder.name.startswith(SOCKET_PREFIX):
                folder.rmdir()

    def _found(self) -> Postmaster | None:
        deadline_s = time.monotonic() + START_S
        while (server := Postmaster.on(self._data)) is not None:
            if server.answers():
                return server
            if not server.lives():
                server.forget()
                return None
            if time.monotonic() > deadline_s:
                raise ProgramFailed(f"its server (process {server.pid}) does not answer")
            # It starts, recovers or stops: whoever was to wait for that has been killed.
            time.sleep(POLL_S)
        return None

    def _started(self) -> Postmaster:
        if any(character in str(self._data) for character in UNSPEAKABLE):
            raise ProgramFailed("the folder's name has a quote, a dollar sign or a line break")
        programs = self._programs()
        if not self._data.exists():
            self._make(programs)
        self._keep_log()
        self._start(programs)
        server = Postmaster.on(self._data)
        if server is None or not server.answers():
            raise ProgramFailed("the server started, but does not answer")
        return server

    def _programs(self) -> Programs:
        programs = Programs(folder=self._wheel or wheel_folder(), account=account_for(self._data))
        if programs.account is None or programs.work():
            return programs
        return programs.copied_to(self._folder / f"programs-{version(PACKAGE)}")

    def _make(self, programs: Programs) -> None:
        # Renamed when it is whole, so that a folder that is there is never half made.
        draft = self._folder / f"{DATA}.new"
        shutil.rmtree(draft, ignore_errors=True)
        _make_closed(draft, programs.account)
        try:
            programs.run("initdb", "-D", str(draft), *MAKING, timeout_s=MAKE_S)
        except ProgramFailed:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        draft.rename(self._data)

    def _keep_log(self) -> None:
        log = self._data / LOG
        if log.exists():
            log.replace(self._data / f"{LOG}.1")

    def _start(self, programs: Programs) -> None:
        start = ("start", "-D", str(self._data), "-w", "-t", str(START_S))
        log = self._data / LOG
        options = ("-l", str(log), "-o", self._options(programs.account))
        deadline_s = time.monotonic() + SETTLE_S
        while True:
            try:
                return programs.run("pg_ctl", *start, *options, timeout_s=START_S + 10)
            except ProgramFailed as error:
                text = log.read_text(errors="replace") if log.exists() else ""
                # What a killed server leaves behind ends by itself a moment later.
                if "shared memory block" not in text or time.monotonic() > deadline_s:
                    raise ProgramFailed(reason(text) or str(error)) from error
            log.unlink()
            time.sleep(POLL_S)

    def _options(self, account: Account | None) -> str:
        folder = str(self._socket_folder(account)).replace('"', '""')
        settings = (("-c", f"{name}={value}") for name, value in self._settings.items())
        return shlex.join(("-k", f'"{folder}"', *(word for pair in settings for word in pair)))

    def _socket_folder(self, account: Account | None) -> Path:
        path = os.fsencode(socket_path(self._data))
        # libpq reads a comma as the end of a host's name.
        if len(path) <= SOCKET_PATH_BYTES and b"," not in path:
            return self._data
        name = f"{SOCKET_PREFIX}{hashlib.sha256(path).hexdigest()[:16]}"
        folder = Path(tempfile.gettempdir(), name)
        _make_closed(folder, account)
        return folder


def _make_closed(folder: Path, account: Account | None) -> None:
    """Make a folder that only the server's account may enter.

    Raises:
        PermissionError: It is there and belongs to somebody else.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    if account is not None and folder.stat(follow_symlinks=False).st_uid == 0:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    found = folder.stat(follow_symlinks=False)
    if found.st_uid != (os.geteuid() if account is None else account.uid) or found.st_mode & 0o077:
        raise PermissionError(13, "the folder belongs to somebody else", str(folder))
