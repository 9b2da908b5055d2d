"""The floor: requests and sseclient-py with the waste taken out, and nothing else.

No environment look-ups, one prepared request sent straight through the adapter, chunks as they
come, the body read to its end so that the connection is used again, orjson.
"""

from typing import Any

import orjson
import requests
from requests.adapters import HTTPAdapter
from sseclient import SSEClient

from benchmarks.timing import FirstDelta


class TunedFloor:
    """A turn by hand: one request, its text."""

    def __init__(
        self, base_url: str, model: str, messages: list[dict[str, Any]], *, connections: int = 64
    ) -> None:
        self._session = requests.Session()
        self._session.trust_env = False
        self._adapter = HTTPAdapter(pool_connections=4, pool_maxsize=connections, max_retries=0)
        self._session.mount("http://", self._adapter)
        self._prepared = self._session.prepare_request(
            requests.Request(
                "POST",
                f"{base_url}/chat/completions",
                headers={
                    "Authorization": "Bearer sk-bench",
                    "Content-Type": "application/json",
                    "Accept": "text/event-stream",
                    "Accept-Encoding": "identity",
                },
            )
        )
        self._model = model
        self._messages = messages

    def turn(self, first_delta: FirstDelta | None = None) -> str:
        """Ask once and return the whole text."""
        reply = self._sent()
        text: list[str] = []
        for event in SSEClient(reply.iter_content(None)).events():
            if event.data == "[DONE]":
                continue
            choices = orjson.loads(event.data)["choices"]
            content = choices[0]["delta"].get("content") if choices else None
            if content:
                if first_delta is not None and not text:
                    first_delta.came()
                text.append(content)
        return "".join(text)

    def refused(self) -> bytes:
        """Ask once, and return the body of what is no answer."""
        reply = self._sent()
        assert reply.status_code >= 400
        return reply.content

    def close(self) -> None:
        self._session.close()

    def _body(self) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": self._messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 4096,
        }

    def _sent(self) -> requests.Response:
        prepared = self._prepared.copy()
        body = orjson.dumps(self._body())
        prepared.body = body
        prepared.headers["Content-Length"] = str(len(body))
        return self._adapter.send(prepared, stream=True, timeout=(10, 120))
