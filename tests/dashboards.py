"""The pages of the dashboard, asked for as a WSGI server does."""

import re
from io import BytesIO
from typing import Any

from contracts.stores import Stores

from turnkeeper.application.list_turns import ListTurns
from turnkeeper.application.saved_pools import SavedPools
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.interfaces.dashboard.app import DashboardApp
from turnkeeper.interfaces.dashboard.pages import Pages, Sources


class StoreClock(SystemClock):
    """The time of day that a store has."""

    def __init__(self, stores: Stores) -> None:
        self.now = stores.now


class Answered:
    """What came back."""

    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = int(status[:3])
        self.headers = dict(headers)
        self.text = body.decode()

    @property
    def plain(self) -> str:
        """The text as people read it, without the tags."""
        body = self.text.partition("<main")[2]
        return " ".join(re.sub(r"<[^>]+>", " ", body).split())


class Asking:
    """Asks an app for pages."""

    def __init__(self, app: DashboardApp) -> None:
        self.app = app

    def __call__(
        self, path: str = "/", query: str = "", *, method: str = "GET", body: str = "", **more: str
    ) -> Answered:
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "HTTP_HOST": "127.0.0.1:8787",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": BytesIO(body.encode()),
            "wsgi.url_scheme": "http",
            **more,
        }
        said: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]], /) -> None:
            said.append((status, headers))

        pieces = b"".join(self.app(environ, start_response))
        ((status, headers),) = said
        return Answered(status, headers, pieces)


def pages(stores: Stores, *, most: int = 50) -> Pages:
    return Pages(sources(stores), most=most)


def sources(stores: Stores) -> Sources:
    return Sources(
        turns=ListTurns(history=stores.history, editor=stores.editor),
        pools=SavedPools(keys=stores.keys.saved, standings=stores.standings),
        reports=stores.reports,
        clock=StoreClock(stores),
    )


def links(answered: Answered) -> list[str]:
    return re.findall(r'href="([^"]+)"', answered.text)
