"""One call to a provider in its own form, up to the terminal event; for all such adapters."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import field
from typing import Any

from turnkeeper.application.ports.clock import Clock
from turnkeeper.domain.failure import Failure
from turnkeeper.domain.frozen import frozen, replace
from turnkeeper.domain.stream import StreamEvent, StreamFailed
from turnkeeper.infrastructure.http import HttpClient, HttpError, HttpRequest, HttpStream
from turnkeeper.infrastructure.providers.call_terms import CallTerms
from turnkeeper.infrastructure.providers.native_answer import NativeAnswer
from turnkeeper.infrastructure.providers.native_reply import MOST_BODY_BYTES, NativeReply
from turnkeeper.infrastructure.providers.negotiation import Negotiation
from turnkeeper.infrastructure.providers.provider_errors import reply_failure
from turnkeeper.infrastructure.providers.refused_parameters import (
    Refusal,
    refusal_in,
    value_json,
)
from turnkeeper.infrastructure.providers.sound_json import sound_json
from turnkeeper.infrastructure.providers.speaker import Speaker

DRAIN_GRACE_S = 0.25

Headers = tuple[tuple[str, str], ...]
Hints = tuple[tuple[str, str], ...]

_HEADERS = (("Content-Type", "application/json"), ("Accept", "text/event-stream"))


@frozen
class Draft:
    """A request that can do without some of its fields.

    Attributes:
        url: Where it goes.
        model: Who is asked.
        fixed: The fields that it cannot do without.
        parameters: Those that it can, by their names in snake case.
        within: The field that holds the parameters; empty is the body itself.
        in_camel_case: Whether the parameters are written so.
        hints: Pairs of words in a refusal and the parameter that they mean, for refusals that
            name none.
        headers: Of every request there.
        key_headers: Those that carry the key.
    """

    url: str
    model: str
    fixed: Mapping[str, Any] = field(repr=False)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    within: str = ""
    in_camel_case: bool = False
    hints: Hints = ()
    headers: Headers = ()
    key_headers: Headers = field(default=(), repr=False)

    @property
    def body(self) -> dict[str, Any]:
        """The whole request."""
        spelt = _camel_case if self.in_camel_case else str
        parameters = {spelt(name): value for name, value in self.parameters.items()}
        if not self.within:
            return {**self.fixed, **parameters}
        return {**self.fixed, self.within: {**self.fixed.get(self.within, {}), **parameters}}

    @property
    def posted(self) -> HttpRequest:
        """What is sent."""
        return HttpRequest(
            url=self.url,
            headers=(*_HEADERS, *self.headers),
            secret_headers=self.key_headers,
            body=sound_json(self.body),
        )

    def without(self, refusals: frozenset[Refusal]) -> "Draft":
        """The request without what is refused."""
        if not refusals:
            return self
        kept = {
            name: value
            for name, value in self.parameters.items()
            if not {(name, None), (name, value_json(value))} & refusals
        }
        return replace(self, parameters=kept)

    def refusal_in(self, failure: Failure) -> Refusal | None:
        """What the request would go through without, as far as a bad request's failure says so."""
        if refusal := refusal_in(failure, self.parameters):
            return refusal
        said = failure.message.lower()
        meant = (name for words, name in self.hints if words in said and name in self.parameters)
        name = next(meant, None)
        return None if name is None else (name, value_json(self.parameters[name]))


class NativeExchange:
    """Asks over HTTP. What a model refuses to be told is left out, there and from then on.

    Safe to use from several threads.

    Args:
        trailer_grace_s: How long a body may stay open behind the reason for the answer's end.
    """

    def __init__(self, *, http: HttpClient, clock: Clock, trailer_grace_s: float) -> None:
        self._http = http
        self._clock = clock
        self._trailer_grace_s = trailer_grace_s
        self._negotiation = Negotiation(Draft.refusal_in)

    def events(
        self, draft: Draft, terms: CallTerms, answer: Callable[[Speaker], NativeAnswer]
    ) -> Iterator[StreamEvent]:
        """Ask, and yield what comes, as soon as it comes.

        Args:
            answer: Makes what the reply is read by.

        Raises:
            Cancelled: The stop was set.
        """
        return self._negotiation.events(
            draft, draft.url, lambda asked: self._once(asked, terms, answer)
        )

    def _once(
        self, asked: Draft, terms: CallTerms, answer: Callable[[Speaker], NativeAnswer]
    ) -> Generator[StreamEvent, None, None]:
        try:
            read_timeout_s = terms.read_timeout_s(self._clock.monotonic())
            with self._http.post_stream(
                asked.posted, stop=terms.stop, read_timeout_s=read_timeout_s
            ) as reply:
                if 200 <= reply.status < 300:
                    yield from self._answer_in(reply, answer, terms)
                else:
                    yield StreamFailed(failure=self._refused_with(reply, terms))
        except HttpError as error:
            yield StreamFailed(failure=terms.failure_of(error))

    def _refused_with(self, reply: HttpStream, terms: CallTerms) -> Failure:
        return reply_failure(
            reply.status,
            reply.headers,
            reply.body(),
            provider=terms.speaker,
            now=self._clock.now(),
            secrets=terms.secrets,
        )

    def _answer_in(
        self, reply: HttpStream, answer: Callable[[Speaker], NativeAnswer], terms: CallTerms
    ) -> Iterator[StreamEvent]:
        speaker = Speaker(
            provider=terms.speaker,
            status=reply.status,
            now=self._clock.now(),
            secrets=terms.secrets,
        )
        native = NativeReply(answer(speaker))
        broken = None
        try:
            yield from self._fed(reply, native)
        except HttpError as error:
            broken = terms.failure_of(error)
        try:
            yield from native.end(broken)
        finally:
            reply.finish(DRAIN_GRACE_S)  # so that the connection can be used again

    def _fed(self, reply: HttpStream, native: NativeReply) -> Iterator[StreamEvent]:
        """What the body brings up to its end, or until it only stays open."""
        for chunk in reply.chunks():
            yield from native.feed(chunk)
            if native.is_over:
                return
            if native.is_finished:
                # More may follow, but some never end the body, and keep it alive with comments.
                yield from native.feed(reply.body(MOST_BODY_BYTES, self._trailer_grace_s))
                return


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return "".join((first, *(other.capitalize() for other in others)))
