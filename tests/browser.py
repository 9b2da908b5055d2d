"""A real browser without a window, driven over its debugging pipe."""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from select import select
from time import monotonic
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# A browser reads its commands from 3 and answers to 4.
LAUNCH = """
import fcntl, os, sys
apart = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
for fd, pipe in zip((3, 4), apart):
    os.dup2(pipe, fd)
os.execv(sys.argv[3], sys.argv[3:])
"""
TIMEOUT_S = 60.0
AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
ASK_AXE = """
axe.run(document, {resultTypes: ["violations"]}).then(found => JSON.stringify(
    found.violations.map(one => ({
        id: one.id, impact: one.impact,
        where: one.nodes.map(node => node.target.join(" ") + ": " + node.failureSummary),
    }))))
"""


def browser_path() -> str | None:
    """Where a browser is: what TURNKEEPER_BROWSER names, or one on the PATH."""
    named = os.environ.get("TURNKEEPER_BROWSER")
    found = map(shutil.which, (named,) if named else NAMES)
    return next((path for path in found if path is not None), None)


class Browser:
    """One page of a browser.

    Raises:
        AssertionError: The browser refuses a command, is gone, or does not answer in time.
    """

    def __init__(self, process: subprocess.Popen[bytes], reads: int, writes: int) -> None:
        self._process = process
        self._reads = reads
        self._writes = writes
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Carry a command out, and return what it says."""
        self._number += 1
        command: dict[str, Any] = {
            "id": self._number,
            "method": method,
            "params": parameters,
        }
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._writes, json.dumps(command).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") != self._number:
                self._events.append(said)
                continue
            assert "error" not in said, f"{method}: {said['error']}"
            result: dict[str, Any] = said["result"]
            return result

    def go(self, url: str) -> Self:
        """Open an address, and wait until all of it is there."""
        self._events.clear()
        self.do("Page.navigate", url=url)
        return self._loaded()

    def submit(self, form: str) -> Self:
        """Send a form, by its selector, and wait until all of the answer is there."""
        self._events.clear()
        self.eval(f"document.querySelector({form!r}).requestSubmit()")
        return self._loaded()

    def _loaded(self) -> Self:
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next())
        return self

    def eval(self, script: str) -> Any:
        """What an expression of the page comes to."""
        said = self.do("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key that writes nothing."""
        for kind in ("rawKeyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Write where the focus is."""
        self.do("Input.insertText", text=text)

    def looks(self, *, scheme: str, width: int = 1280, height: int = 800) -> Self:
        """Set the window's size, and whether its user wants it ``light`` or ``dark``."""
        self.do("Emulation.setEmulatedMedia", features=[_feature("prefers-color-scheme", scheme)])
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        return self

    def screenshot(self, path: Path) -> Path:
        """The whole page as a picture."""
        taken = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(b64decode(taken["data"]))
        return path

    def violations(self) -> list[dict[str, Any]]:
        """What is wrong with the page for people who cannot see it, or use no mouse."""
        self.eval(AXE)
        found: list[dict[str, Any]] = json.loads(self.eval(ASK_AXE))
        return found

    @property
    def complaints(self) -> list[str]:
        """What the browser has said of the page since it was opened."""
        entries = (event for event in self._events if event.get("method") == "Log.entryAdded")
        return [event["params"]["entry"]["text"] for event in entries]

    @property
    def requests(self) -> list[str]:
        """The addresses that the page has asked for since it was opened."""
        sent = (
            event for event in self._events if event.get("method") == "Network.requestWillBeSent"
        )
        return [event["params"]["request"]["url"] for event in sent]

    def _next(self) -> dict[str, Any]:
        """The next message, which ends in a NUL."""
        end = monotonic() + TIMEOUT_S
        while b"\0" not in self._left:
            ready, _, _ = select([self._reads], [], [], max(0.0, end - monotonic()))
            assert ready, "the browser says nothing"
            piece = os.read(self._reads, 1 << 16)
            assert piece, f"the browser is gone: {self._process.poll()}"
            self._left += piece
        first, _, self._left = self._left.partition(b"\0")
        said: dict[str, Any] = json.loads(first)
        return said


@contextmanager
def a_browser(path: str, folder: Path) -> Iterator[Browser]:
    """A browser that knows nothing from before, for the time of a `with`."""
    commands, answers = os.pipe(), os.pipe()
    theirs = (commands[0], answers[1])
    flags = (*FLAGS, f"--user-data-dir={folder}")
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCH, *map(str, theirs), path, *flags],
        pass_fds=theirs,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder)},
    ) as process:
        os.close(commands[0])
        os.close(answers[1])
        try:
            yield Browser(process, answers[0], commands[1])
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)
            os.close(commands[1])
            os.close(answers[0])


def _feature(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}
