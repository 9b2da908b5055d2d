"""What a provider said went wrong, in one form for all providers, before it is understood."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnkeeper.domain.frozen import frozen

Pairs = tuple[tuple[str, str], ...]

LONGEST_TEXT = 4_000
LONGEST_WORD = 120
MOST_WORDS = 32
RETRY_DELAY = "retry_delay"

_NO_TYPE = "error"  # Anthropic's envelope, and Mistral's, call every error by this type
_WORDLY = (str, int, float)
_TEXTS = ("message", "msg", "detail", "error_description")
_NUMBERS = ("status_code", "statusCode", "n_ctx", "n_prompt_tokens")
_HINTS = ("retry_after", "retryDelay", "retry_after_seconds")
_FURTHER = frozenset(
    {"availability", "detail", "details", "innererror", "metadata", "reason", *_NUMBERS, *_HINTS}
)
"""The fields in which more is looked for than in those that nearly every error has."""


@frozen
class ErrorReport:
    """One error as its provider worded it; not redacted.

    Attributes:
        provider: Who speaks: the name of its dialect.
        status: The HTTP status; None if the error did not come by HTTP.
        code: Its code as text.
        type: Its type or symbolic status.
        message: For people; empty where the body was no text, such as a page of HTML.
        upstream: What the provider behind a gateway said.
        words: Further symbols: reasons, ids of quotas, and "moderated" for a flagged input.
        parameter: The request parameter that it names.
        headers: With names in lower case.
        details: Numbers and waits from the body, and the headers of an upstream.
        in_band: Whether it came inside an answer of status 200.
        event: The name of the stream's event that brought it.
    """

    provider: str = ""
    status: int | None = None
    code: str | None = None
    type: str | None = None
    message: str = ""
    upstream: str = ""
    words: tuple[str, ...] = ()
    parameter: str | None = None
    headers: Pairs = ()
    details: Pairs = ()
    in_band: bool = False
    event: str = "message"

    @property
    def effective_status(self) -> int | None:
        """The HTTP status, or the one that an error inside a 200 answer names."""
        if not self.in_band:
            return self.status
        named = dict(self.details)
        numbers = (self.code or "", named.get("status_code", ""), named.get("statusCode", ""))
        return next((int(text) for text in numbers if _is_status(text)), None)

    @property
    def text(self) -> str:
        """All it says in words, in lower case."""
        return f"{self.message}\n{self.upstream}".lower()


def read_error(
    body: object,
    *,
    provider: str,
    status: int | None,
    headers: Iterable[tuple[str, str]] = (),
    in_band: bool = False,
    event: str = "message",
) -> ErrorReport:
    """Read an error's body: parsed JSON of any of the known shapes, or text that was no JSON."""
    error = _error_of(body)
    metadata = _mapping(error.get("metadata"))
    code = _word(error.get("code"))
    says_more = not _FURTHER.isdisjoint(error)
    return ErrorReport(
        provider=provider,
        status=status,
        code=code,
        type=_type_of(error),
        message=_message_of(error)[:LONGEST_TEXT],
        upstream=_text(metadata.get("raw"))[:LONGEST_TEXT],
        words=tuple(_words_of(error, metadata))[:MOST_WORDS] if says_more else (),
        parameter=_parameter_of(error),
        headers=tuple((name.lower(), value) for name, value in headers),
        details=tuple(_details_of(error, metadata)) if says_more else (),
        in_band=in_band,
        event=event,
    )


def _error_of(body: object) -> Mapping[str, Any]:
    """The error's own fields, with those around it where it has none of that name."""
    if isinstance(body, list | tuple):
        body = next((entry for entry in body if isinstance(entry, Mapping)), {})
    if isinstance(body, str):
        return {} if body.lstrip().startswith("<") else {"message": body.strip()}
    around = _mapping(body)
    error = around.get("error")
    if isinstance(error, Mapping):
        return {**{name: around[name] for name in around if name != "error"}, **error}
    if isinstance(error, str):
        # Some add a sentence to it, others have nothing else.
        return {"message": error, "reason": error, **_without_empty(around)}
    return around


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _message_of(error: Mapping[str, Any]) -> str:
    for name in _TEXTS:
        if text := _text(error.get(name)):
            return text
    return ""


def _text(value: object) -> str:
    """Text, or the texts within what a validator lists."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return _message_of(value)
    if isinstance(value, list | tuple):
        return "; ".join(filter(None, map(_complaint, value[:MOST_WORDS])))
    return ""


def _complaint(entry: object) -> str:
    """One entry of a validator's list, as "place: words"."""
    fields = _mapping(entry)
    place = ".".join(str(part) for part in fields.get("loc") or () if part != "body")
    return ": ".join(filter(None, (place, _text(fields.get("msg")) or _text(fields))))


def _type_of(error: Mapping[str, Any]) -> str | None:
    metadata = _mapping(error.get("metadata"))
    for name in (error.get("type"), error.get("status"), metadata.get("error_type")):
        word = _word(name)
        if word and word != _NO_TYPE and not word.isdigit():
            return word
    return None


def _words_of(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[str]:
    availability = _mapping(error.get("availability"))
    for value in (
        metadata.get("error_type"),
        metadata.get("limit_source"),
        availability.get("code"),
        error.get("reason"),
        _mapping(error.get("innererror")).get("code"),
    ):
        if word := _word(value):
            yield word
    if "flagged_input" in metadata or metadata.get("reasons"):
        yield "moderated"
    if metadata.get("provider_name"):
        yield "upstream"
    for entry in _entries(error.get("detail")):
        if word := _word(entry.get("type")):
            yield word
    for entry in _entries(error.get("details")):
        yield from _google_words(entry)


def _google_words(entry: Mapping[str, Any]) -> Iterator[str]:
    if word := _word(entry.get("reason")):
        yield word
    for violation in _entries(entry.get("violations")):
        if word := _word(violation.get("quotaId")):
            yield word


def _details_of(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in _mapping(metadata.get("headers")).items():
        if word := _word(value):
            yield str(name).lower(), word
    for name in _NUMBERS:
        if word := _word(error.get(name)):
            yield name, word
    places = (error, metadata, _mapping(error.get("availability")), *_entries(error.get("details")))
    for place in places:
        for name in _HINTS:
            if word := _word(place.get(name)):
                yield RETRY_DELAY, word


def _parameter_of(error: Mapping[str, Any]) -> str | None:
    if named := _word(error.get("param")):
        return named
    message = error.get("message")
    if isinstance(message, str) and "detail" not in error:
        return None
    listed = [*_entries(error.get("detail")), *_entries(_mapping(message).get("detail"))]
    places = (entry.get("loc") for entry in listed)
    last = next((place[-1] for place in places if isinstance(place, list) and place), None)
    return _word(last)


def _entries(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple):
        return []
    return [entry for entry in value[:MOST_WORDS] if isinstance(entry, Mapping)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _word(value: object) -> str | None:
    """A short text or a number as text; None for all else."""
    if value is None or isinstance(value, bool) or not isinstance(value, _WORDLY):
        return None
    return str(value).strip()[:LONGEST_WORD] or None


def _is_status(text: str) -> bool:
    return len(text) == 3 and text.isascii() and text.isdigit() and "400" <= text <= "599"
