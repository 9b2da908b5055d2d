"""Providers that speak OpenAI's chat completions, and endpoints that people name themselves."""

from collections.abc import Callable, Generator, Iterator
from functools import partial

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.deadline import Deadline
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen, maker
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent, StreamFailed
from turnkeeper.infrastructure.http import (
    HttpClient,
    HttpError,
    HttpErrorKind,
    HttpRequest,
    HttpStream,
)
from turnkeeper.infrastructure.providers.call_terms import CallTerms
from turnkeeper.infrastructure.providers.dialects import CUSTOM, Dialect, dialect_at
from turnkeeper.infrastructure.providers.negotiation import Negotiation
from turnkeeper.infrastructure.providers.openai_reply import OpenAIReply
from turnkeeper.infrastructure.providers.openai_request import OpenAIRequest, request_of
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.refused_parameters import Refusal, refusal_in
from turnkeeper.infrastructure.providers.speaker import Speaker

_new_call_terms = maker(CallTerms)
_new_http_request = maker(HttpRequest)

DRAIN_GRACE_S = 0.25

_TRAILER_BYTES = 262_144
_HEADERS = (("Content-Type", "application/json"), ("Accept", "text/event-stream"))


@frozen
class Attribution:
    """The app that a gateway counts the calls for.

    Attributes:
        title: Its name.
        site: Its address, without which nothing is counted; None to send the name alone.
    """

    title: str
    site: str | None = None


class OpenAICompatibleProvider(ChatProvider):
    """Asks over HTTP. What a model refuses to be told is left out, there and from then on.

    Args:
        dialect: The provider's way; endpoints have that of their address.
        attribution: Sent where it is wanted; None to send none.
        address_of: Checks the address of an endpoint that is not trusted, and returns the IP
            address to connect to; raises `HttpError` to refuse it. Without it, such endpoints
            are refused.
        trailer_grace_s: How long a body may stay open behind the reason for the answer's end.
    """

    heeds_stop = True

    def __init__(
        self,
        *,
        http: HttpClient,
        clock: Clock,
        dialect: Dialect = CUSTOM,
        attribution: Attribution | None = None,
        address_of: Callable[[str], str] | None = None,
        trailer_grace_s: float = 2.0,
    ) -> None:
        self._http = http
        self._clock = clock
        self._dialect = dialect
        self._attributed = _HEADERS if attribution is None else _attributed_to(attribution)
        self._address_of = address_of
        self._trailer_grace_s = trailer_grace_s
        self._negotiation = Negotiation(_refusal_of)

    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        dialect = dialect_at(call.endpoint) if call.endpoint else self._dialect
        terms = _new_call_terms(speaker=dialect.speaker, key=key, stop=stop, deadline=deadline)
        request = request_of(call, dialect)
        return self._negotiation.events(request, request.url, partial(self._events, terms))

    def _events(
        self, terms: CallTerms, request: OpenAIRequest
    ) -> Generator[StreamEvent, None, None]:
        answer = None
        try:
            read_timeout_s = terms.read_timeout_s(self._clock.monotonic())
            with self._http.open_stream(
                "POST",
                self._posted(request, terms),  # not named, so that its body is not kept meanwhile
                stop=terms.stop,
                read_timeout_s=read_timeout_s,
            ) as reply:
                if not 200 <= reply.status < 300:
                    yield StreamFailed(failure=self._refused_with(reply, terms))
                    return
                answer = OpenAIReply(partial(self._speaker_of, reply, terms))
                for piece in reply.chunks():
                    yield from answer.feed(piece)
                    if answer.is_over:
                        break
                    if answer.is_finished:
                        # Only a trailer is missing, which some never end.
                        yield from answer.feed(reply.body(_TRAILER_BYTES, self._trailer_grace_s))
                        break
                try:
                    yield from answer.end()
                finally:
                    reply.finish(DRAIN_GRACE_S)  # so that the connection can be used again
        except HttpError as error:
            failure = terms.failure_of(error)
            yield from (
                answer.end(failure) if answer is not None else [StreamFailed(failure=failure)]
            )

    def _posted(self, request: OpenAIRequest, terms: CallTerms) -> HttpRequest:
        """The HTTP request.

        Raises:
            HttpError: The endpoint's address is refused.
        """
        url, dialect, endpoint = request.url, request.dialect, request.endpoint
        return _new_http_request(
            url=url,
            headers=self._attributed if dialect.takes_attribution else _HEADERS,
            secret_headers=_key_headers(dialect, terms.key),
            body=request.payload,
            address=None
            if endpoint is None or endpoint.trusted
            else self._checked(url, endpoint.label),
        )

    def _checked(self, url: str, label: str) -> str:
        if self._address_of is None:
            raise HttpError(
                HttpErrorKind.BAD_REQUEST_VALUE,
                f"endpoint {label} is not trusted, and no address check is set up",
            )
        return self._address_of(url)

    def _refused_with(self, reply: HttpStream, terms: CallTerms) -> Failure:
        return reply_failure(
            reply.status,
            reply.headers,
            reply.body(),
            provider=terms.speaker,
            now=self._clock.now(),
            secrets=terms.secrets,
        )

    def _speaker_of(self, reply: HttpStream, terms: CallTerms) -> Speaker:
        return Speaker(
            provider=terms.speaker,
            status=reply.status,
            now=self._clock.now(),
            secrets=terms.secrets,
        )


def _attributed_to(app: Attribution) -> tuple[tuple[str, str], ...]:
    site = (("HTTP-Referer", app.site),) if app.site else ()
    return (*_HEADERS, *site, ("X-OpenRouter-Title", app.title))


def _key_headers(dialect: Dialect, key: Secret | None) -> tuple[tuple[str, str], ...]:
    if key is None:
        return ()
    if dialect.key_header:
        return ((dialect.key_header, key.reveal()),)
    return (("Authorization", f"Bearer {key.reveal()}"),)


def _refusal_of(asked: OpenAIRequest, failure: Failure) -> Refusal | None:
    return refusal_in(failure, asked.parameters)
