"""A provider of one's own: Murmur, which answers with one JSON document a line.

A request:  POST /murmur  {"model": "m1", "said": [{"by": "user", "parts": [{"text": "Hi"}]}]}
An answer:  {"thought": "Greet."}
            {"text": "Hello!"}
            {"call": {"id": "c1", "name": "look", "arguments": "{\\"at\\": 1}"}}
            {"end": "stop", "used": {"in": 9, "out": 3}}
A failure:  {"error": {"code": 429, "message": "Too many requests."}}

Blank lines, and lines that begin with a colon, only show that it is still there.
"""

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Item, Part, TextPart, ToolCallPart, ToolResultPart
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.error_report import read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.signals import recognise
from turnkeeper.domain.stream import (
    Finished,
    FinishReason,
    ReasoningDelta,
    StreamEvent,
    StreamFailed,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpRequest, HttpStream
from turnkeeper.infrastructure.providers.call_terms import CallTerms
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.speaker import Speaker
from turnkeeper.interfaces import (
    Conversation,
    Owner,
    Settings,
    SimpleSink,
    Turnkeeper,
    TurnRequest,
)

NAME = "murmur"
BASE_URL = "https://api.murmur.example/v1"
HEADERS = (("Content-Type", "application/json"), ("Accept", "application/x-ndjson"))
MOST_LINE_BYTES = 1_048_576
DRAIN_GRACE_S = 0.25


# ── the request ─────────────────────────────────────────────────────────────────────────────


def body_of(call: ChatCall) -> dict[str, Any]:
    """The body for a call; what is not set is left out."""
    sampling = call.sampling
    warmth = None if "temperature" in sampling.disabled else sampling.temperature
    tools = [
        {"name": tool.name, "about": tool.description, "schema": tool.schema_json}
        for tool in call.conversation.tools
    ]
    return {
        "model": call.model.name,
        "said": [said(item) for item in call.conversation.items],
        **({"tools": tools} if tools else {}),
        **({"longest": call.max_output_tokens} if call.max_output_tokens else {}),
        **({"warmth": warmth} if warmth is not None else {}),
    }


def said(item: Item) -> dict[str, Any]:
    """One item of the conversation."""
    return {"by": item.role.value, "parts": [part for one in item.parts for part in parts_of(one)]}


def parts_of(part: Part) -> Iterator[dict[str, Any]]:
    """What Murmur understands of a part; it sees no images."""
    match part:
        case TextPart(text=text):
            yield {"text": text}
        case ToolCallPart(call_id=call_id, name=name, arguments_json=arguments):
            yield {"call": {"id": call_id, "name": name, "arguments": arguments}}
        case ToolResultPart(call_id=call_id, result_json=result):
            yield {"result": {"id": call_id, "given": result}}


# ── the answer ──────────────────────────────────────────────────────────────────────────────

ENDS = {
    "stop": FinishReason.STOP,
    "calls": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "filter": FinishReason.CONTENT_FILTER,
}


class MurmurAnswer:
    """Turns the lines of one answer into events; the last event is terminal."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker
        self._calls = 0

    def events(self, chunks: Iterable[bytes]) -> Iterator[StreamEvent]:
        """Yield what comes, as soon as it comes, up to the end."""
        for line in lines_of(chunks):
            for event in self._read(line.strip()):
                yield event
                if isinstance(event, Finished | StreamFailed):
                    return
        yield failed(FailureKind.NETWORK, "the answer broke off before its end")

    def _read(self, line: bytes) -> Iterator[StreamEvent]:
        if len(line) > MOST_LINE_BYTES:
            yield failed(FailureKind.SERVER_ERROR, "a line is larger than allowed")
        elif line.startswith(b"<"):
            yield failed(FailureKind.SERVER_ERROR, "the answer is a page of HTML")
        elif line and not line.startswith(b":"):
            try:
                document = orjson.loads(line)
            except ValueError:  # what it said is lost, and an answer with a hole is no answer
                yield failed(FailureKind.NETWORK, "a line is broken, so text may be missing")
                return
            yield from self._meant(document)

    def _meant(self, document: object) -> Iterator[StreamEvent]:
        match document:
            case {"error": _}:
                yield self._error(document)
            case {"text": str(text)}:
                yield TextDelta(text)
            case {"thought": str(thought)}:
                yield ReasoningDelta(thought)
            case {"call": {"id": str(call_id), "name": str(name), "arguments": str(arguments)}}:
                yield ToolCallDelta(self._calls, call_id, name, arguments)
                self._calls += 1
            case {"end": str(word), "used": {"in": int(given), "out": int(answered)}}:
                yield Usage(input_tokens=given, output_tokens=answered)
                yield Finished(reason=ENDS.get(word, FinishReason.STOP), raw=(word,))
            case {"end": str(word)}:
                yield Finished(reason=ENDS.get(word, FinishReason.STOP), raw=(word,))

    def _error(self, document: object) -> StreamFailed:
        """An error within an answer, recognised by the one table of all providers, redacted."""
        speaker = self._speaker
        report = read_error(document, provider=NAME, status=speaker.status, in_band=True)
        failure = recognise(report, now=speaker.now, secrets=speaker.secrets)
        return StreamFailed(failure=failure)


def failed(kind: FailureKind, message: str) -> StreamFailed:
    """The end of an answer that makes no sense."""
    failure = Failure(kind=kind, message=message, provider=NAME, rule=f"murmur-{kind.value}")
    return StreamFailed(failure=failure)


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines as they come, up to one that is too long; the last one may lack its end."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > MOST_LINE_BYTES:
            break
    yield rest


# ── the provider ────────────────────────────────────────────────────────────────────────────


class MurmurProvider(ChatProvider):
    """Asks over HTTP. Safe to use from several threads."""

    heeds_stop = True

    def __init__(
        self, http: HttpClient, *, base_url: str = BASE_URL, clock: Clock | None = None
    ) -> None:
        self._http = http
        self._url = f"{base_url.rstrip('/')}/murmur"
        self._clock = clock or SystemClock()

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        terms = CallTerms(speaker=NAME, key=key, stop=stop, deadline=deadline)
        request = HttpRequest(
            url=self._url,
            headers=HEADERS,
            secret_headers=(("Authorization", f"Bearer {key.reveal()}"),) if key else (),
            body=json.dumps(body_of(call)).encode(),
        )
        try:
            timeout_s = terms.read_timeout_s(self._clock.monotonic())
            with self._http.post_stream(request, stop=stop, read_timeout_s=timeout_s) as reply:
                yield from self._events(reply, terms)
                reply.finish(DRAIN_GRACE_S)  # so that the connection can be used again
        except HttpError as error:
            yield StreamFailed(failure=terms.failure_of(error))

    def _events(self, reply: HttpStream, terms: CallTerms) -> Iterator[StreamEvent]:
        now, secrets = self._clock.now(), terms.secrets
        if 200 <= reply.status < 300:
            speaker = Speaker(provider=NAME, status=reply.status, now=now, secrets=secrets)
            yield from MurmurAnswer(speaker).events(reply.chunks())
        else:
            failure = reply_failure(
                reply.status, reply.headers, reply.body(), provider=NAME, now=now, secrets=secrets
            )
            yield StreamFailed(failure=failure)


# ── the registration ────────────────────────────────────────────────────────────────────────


def installed(http: HttpClient) -> ChatProvider:
    """What the entry point names; `MURMUR_BASE_URL` may move it."""
    return MurmurProvider(http, base_url=os.environ.get("MURMUR_BASE_URL", BASE_URL))


def ask(keeper: Turnkeeper, prompt: str, *, key: str) -> str:
    """Set a server up, and ask."""
    keeper.configure.register_model(f"{NAME}:m1")
    keeper.configure.add_key(Owner.server("local"), NAME, key)
    keeper.configure.use_model("local", f"{NAME}:m1")
    request = TurnRequest(conversation=Conversation.of(prompt))
    return keeper.run(request, SimpleSink()).text


if __name__ == "__main__":
    settings = Settings(store="memory")
    with Turnkeeper.open(settings, own_providers={NAME: installed}) as keeper:
        print(ask(keeper, "Say hello.", key=os.environ["MURMUR_API_KEY"]))
