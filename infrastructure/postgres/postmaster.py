"""What the folder of a Postgres server says about the server that runs on it."""

import socket
import subprocess
from pathlib import Path

from turnkeeper.domain.frozen import frozen

PID_FILE = "postmaster.pid"
PORT = 5432
# A path of a socket has at most 107 bytes on Linux and 103 on macOS.
SOCKET_PATH_BYTES = 103
ANSWER_S = 5
# Asks for TLS, which a server never gives on such a socket: it answers N at once.
SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


@frozen
class Postmaster:
    """A server as its pid file describes it; the file also outlives a killed server.

    Attributes:
        cluster: The folder of its data.
        pid: The process, or what was the process.
        socket_folder: Where it listens; None while it starts.
        says_ready: Whether it says that it takes connections.
    """

    cluster: Path
    pid: int
    socket_folder: Path | None
    says_ready: bool

    @classmethod
    def on(cls, cluster: Path) -> "Postmaster | None":
        """Return what the folder's pid file says; None without a file, or with an unfinished one.

        Source: PostgreSQL, src/include/utils/pidfile.h (line 1 pid, 5 socket folder, 8 status).
        """
        try:
            lines = (cluster / PID_FILE).read_text().splitlines()
        except FileNotFoundError:
            return None
        if not lines or not lines[0].strip().isdigit():
            return None
        lines += [""] * (8 - len(lines))
        return cls(
            cluster=cluster,
            pid=int(lines[0]),
            socket_folder=Path(lines[4]) if lines[4] else None,
            says_ready=lines[7].strip() == "ready",
        )

    def lives(self) -> bool:
        """Whether the process runs and is this server, not another one that got its number."""
        program, *arguments = _command_line(self.pid) or [""]
        return program.endswith("postgres") and str(self.cluster) in arguments

    def answers(self) -> bool:
        """Whether it takes connections."""
        if not self.says_ready or self.socket_folder is None:
            return False
        # A question rather than a bare connection, which a dying server still accepts.
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(ANSWER_S)
                client.connect(str(socket_path(self.socket_folder)))
                client.sendall(SSL_REQUEST)
                return client.recv(1) == b"N"
        except OSError:
            return False

    def forget(self) -> None:
        """Remove what a dead server left where its number is now another process's.

        Postgres sees to this itself, except where it takes that process for a server.
        """
        if _command_line(self.pid):
            (self.cluster / PID_FILE).unlink(missing_ok=True)
            if self.socket_folder is not None:
                path = socket_path(self.socket_folder)
                path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def socket_path(folder: Path) -> Path:
    """Return the socket of a server that listens in this folder."""
    return folder / f".s.PGSQL.{PORT}"


def _command_line(pid: int) -> list[str]:
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text(errors="surrogateescape").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            return []
    command = ("/bin/ps", "-o", "command=", "-p", str(pid))
    listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)  # noqa: S603
    return listed.stdout.split()
