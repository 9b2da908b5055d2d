"""One test a signal, and what else a failure takes from an error."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.error_report import ErrorReport, read_error
from turnkeeper.domain.failure import Failure, FailureKind
from turnkeeper.domain.redact import MASK
from turnkeeper.domain.signal import Signal
from turnkeeper.domain.signal_rules import SIGNALS
from turnkeeper.domain.signals import recognise, says_output_limit

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)


def failure_of(
    status: int | None, body: object, *, provider: str = "somebody", **rest: Any
) -> Failure:
    return recognise(read_error(body, provider=provider, status=status, **rest), now=NOW)


def said(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


def google(status: str, message: str, *details: Mapping[str, object]) -> dict[str, object]:
    return {"error": {"code": 400, "status": status, "message": message, "details": details}}


K = FailureKind
PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [
        {"quotaId": "GenerateRequestsPerMinutePerProject"},
        {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
    ],
}

# What a provider sends, by the signal that recognises it.
ROWS: list[tuple[str, FailureKind, str, int | None, object]] = [
    ("affordable", K.QUOTA, "openrouter", 402, said("You can only afford 27342.")),
    (
        "budget-in-flight",
        K.RATE_LIMIT,
        "openrouter",
        402,
        said("Busy", metadata={"limit_source": "openrouter_in_flight_budget"}),
    ),
    ("no-free-tier", K.PERMISSION, "gemini", 429, google("RESOURCE_EXHAUSTED", "x, limit: 0, y")),
    ("day-quota-gemini", K.QUOTA, "gemini", 429, google("RESOURCE_EXHAUSTED", "Quota", PER_DAY)),
    ("day-quota", K.QUOTA, "openrouter", 429, said("Rate limit exceeded: free-models-per-day")),
    ("plan-quota-zai", K.QUOTA, "zai", 429, said("Usage limit reached for 5 hour.", code="1308")),
    ("balance-zai", K.QUOTA, "zai", 429, said("Please recharge.", code="1113")),
    ("billing", K.QUOTA, "openai", 429, said("Quota", code="insufficient_quota")),
    ("payment", K.QUOTA, "novelai", 402, {"statusCode": 402, "message": "Pay."}),
    ("tool-call", K.MALFORMED_TOOL_CALL, "groq", 400, said("No.", code="tool_use_failed")),
    ("context-code", K.CONTEXT_TOO_LONG, "openai", 400, said("x", code="context_length_exceeded")),
    ("context-zai", K.CONTEXT_TOO_LONG, "zai", 400, said("Prompt", code="1261")),
    ("context-said", K.CONTEXT_TOO_LONG, "vllm", 400, said("the maximum context length is 9")),
    ("content-code", K.CONTENT_FILTER, "azure", 400, said("No.", code="content_filter")),
    ("content-zai", K.CONTENT_FILTER, "zai", 400, said("No.", code="1301")),
    ("content-said", K.CONTENT_FILTER, "deepseek", 400, said("Content Exists Risk")),
    ("image-refused", K.CAPABILITY, "llamacpp", 500, said("image input is not supported - hint")),
    ("tools-refused", K.CAPABILITY, "ollama", 400, said("phi does not support tools")),
    ("model-code", K.MODEL_NOT_FOUND, "groq", 404, said("No.", code="model_not_found")),
    ("model-zai", K.MODEL_NOT_FOUND, "zai", 400, said("No.", code="1211")),
    ("model-said", K.MODEL_NOT_FOUND, "openrouter", 400, said("a/b is not a valid model ID")),
    ("key-code", K.AUTH, "openai", 401, said("No.", code="invalid_api_key")),
    ("key-zai", K.AUTH, "zai", 400, said("No.", code="1002")),
    ("key-said", K.AUTH, "xai", 400, {"code": "Client error", "error": "Incorrect API key"}),
    ("permission-code", K.PERMISSION, "anthropic", 403, said("No.", type="permission_error")),
    ("permission-zai", K.PERMISSION, "zai", 400, said("No.", code="1220")),
    ("permission-said", K.PERMISSION, "gemini", 400, said("User location is not supported")),
    ("tier-capacity", K.OVERLOADED, "mistral", 429, {"message": "Service tier capacity exceeded"}),
    (
        "upstream-limit",
        K.RATE_LIMIT,
        "openrouter",
        429,
        said("Provider returned error", metadata={"provider_name": "X", "raw": "rate-limited"}),
    ),
    (
        "upstream-busy",
        K.OVERLOADED,
        "openrouter",
        429,
        said("Provider returned error", metadata={"provider_name": "X", "raw": "come back"}),
    ),
    ("busy-zai", K.OVERLOADED, "zai", 429, said("Busy.", code="1312")),
    ("limit-zai", K.RATE_LIMIT, "zai", 429, said("Slower.", code="1302")),
    ("limit-mistral", K.RATE_LIMIT, "mistral", 429, {"code": "1300", "message": "Slower."}),
    ("limit-code", K.RATE_LIMIT, "openai", 429, said("Slower.", code="rate_limit_exceeded")),
    ("overloaded-code", K.OVERLOADED, "anthropic", 529, said("Busy", type="overloaded_error")),
    ("overloaded-said", K.OVERLOADED, "llamacpp", 503, said("Loading model")),
    ("limit-said", K.RATE_LIMIT, "gateway", 500, said("Too many requests")),
    ("status-auth", K.AUTH, "ollama", 401, said("Who?", type="api_error")),
    ("status-permission", K.PERMISSION, "somebody", 403, said("No.")),
    ("status-model", K.MODEL_NOT_FOUND, "somebody", 404, "not here"),
    ("status-limit", K.RATE_LIMIT, "novelai", 429, {"message": "Concurrent generation is locked"}),
    ("status-overloaded", K.OVERLOADED, "openrouter", 503, "<!DOCTYPE html><html></html>"),
    ("status-unable", K.BAD_REQUEST, "llamacpp", 501, said("no")),
    ("status-server", K.SERVER_ERROR, "somebody", 524, ""),
    ("status-request", K.BAD_REQUEST, "anthropic", 400, said("temperature: range: 0..1")),
    ("server-code", K.SERVER_ERROR, "lmstudio", None, said("Oh", type="server_error")),
    ("request-code", K.BAD_REQUEST, "gateway", None, said("No.", type="invalid_request_error")),
    ("unknown", K.SERVER_ERROR, "lmstudio", None, said("The model has crashed")),
]


@pytest.mark.parametrize(
    ("rule", "kind", "provider", "status", "body"), ROWS, ids=[row[0] for row in ROWS]
)
def test_a_signal_is_recognised(
    rule: str, kind: FailureKind, provider: str, status: int | None, body: object
) -> None:
    failure = failure_of(status, body, provider=provider)

    assert (failure.rule, failure.kind) == (rule, kind)


def test_every_signal_has_its_row() -> None:
    assert sorted(row[0] for row in ROWS) == sorted(signal.id for signal in SIGNALS)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, said("Insufficient balance for the maximum context length"), K.QUOTA),
        (400, said("Tool call validation failed: prompt is too long"), K.MALFORMED_TOOL_CALL),
        (400, said("prompt is too long for our content policy"), K.CONTEXT_TOO_LONG),
        (404, said("The image was flagged: no such model"), K.CONTENT_FILTER),
        (404, said("No endpoints found that support image input"), K.CAPABILITY),
        (401, said("Invalid model for this invalid API key"), K.MODEL_NOT_FOUND),
        (429, said("Invalid API key, rate limit reached"), K.AUTH),
        (503, said("Slower.", code="rate_limit_exceeded"), K.RATE_LIMIT),
    ],
)
def test_of_two_signs_the_one_that_says_more_counts(
    status: int, body: object, kind: FailureKind
) -> None:
    assert failure_of(status, body).kind is kind


TOO_LONG = [
    "This model's maximum context length is 4097 tokens. However, you requested 5000 tokens",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input",
    "prompt is too long: 3333404 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "request (2009 tokens) exceeds the available context size (512 tokens), try increasing it",
    "Context size has been exceeded.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "prompt too long; exceeded max context length by 1119046 tokens",
    "Prompt contains 65673 tokens, too large for model with 32768 maximum context length",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000. The "
    "input or output tokens must be reduced in order to run successfully.",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is "
    "loaded with context length of only 4096 tokens",
    "the request exceeds the model's context length",
]


@pytest.mark.parametrize("message", TOO_LONG)
@pytest.mark.parametrize("status", [400, 413, 429, 500])
def test_a_prompt_that_is_too_long_is_known_by_many_wordings(message: str, status: int) -> None:
    assert failure_of(status, said(message)).kind is K.CONTEXT_TOO_LONG


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("max_tokens is too large: 100000. This model supports at most 16384", K.BAD_REQUEST),
        ("Invalid token 'x' in the JSON at position 4", K.BAD_REQUEST),
        ("tools[0].name must not be empty", K.BAD_REQUEST),
        ("quota exceeded, retry in 2s", K.BAD_REQUEST),
    ],
)
def test_an_ordinary_400_stays_one(message: str, kind: FailureKind) -> None:
    assert failure_of(400, said(message)).kind is kind


@pytest.mark.parametrize(
    ("body", "limit", "requested"),
    [
        (said(TOO_LONG[0]), 4097, 5000),
        (said(TOO_LONG[1]), 131072, 537812),
        (said(TOO_LONG[2]), None, None),
        (said(TOO_LONG[3]), 200000, 3333404),
        (said(TOO_LONG[4]), 200000, 188240),
        (said(TOO_LONG[5]), 512, 2009),
        (said(TOO_LONG[7]), 1048576, 1200000),
        (said(TOO_LONG[8]), None, None),
        (said(TOO_LONG[9]), 32768, 65673),
        (said(TOO_LONG[10]), 4097, 4000),
        (said(TOO_LONG[11]), 30000, 41000),
        (said(TOO_LONG[12]), 4096, None),
        (said("context size exceeded: context length is 8,192"), 8192, None),
        (said("Context size has been exceeded", n_ctx=512, n_prompt_tokens=2009), 512, 2009),
    ],
)
def test_the_numbers_of_a_prompt_too_long_are_read(
    body: object, limit: int | None, requested: int | None
) -> None:
    failure = failure_of(400, body)

    assert (failure.limit_tokens, failure.requested_tokens) == (limit, requested)


def test_what_the_balance_still_pays_for_is_read() -> None:
    body = said("You requested up to 32000 tokens, but can only afford 27,342. To increase")

    assert failure_of(402, body).affordable_tokens == 27342


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (said("Invalid 'temperature': too large", param="temperature"), "temperature"),
        (said("Unsupported parameter: 'max_tokens' is not supported with this"), "max_tokens"),
        (said("Unrecognized request argument supplied: min_p"), "min_p"),
        (said("property 'logit_bias' is unsupported, did you mean 'x'?"), "logit_bias"),
        (said("Unknown name \"topK\" at 'generation_config'"), "top_k"),
        (said("temperature: range: 0..1"), "temperature"),
        (said("`temperature` and `top_p` cannot both be specified"), "temperature"),
        ({"error": "Argument not supported on this model: presencePenalty"}, "presence_penalty"),
        (said("Model does not support parameter presencePenalty"), "presence_penalty"),
        (
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra"}]},
            "top_k",
        ),
        (
            {"message": {"detail": [{"loc": ["body", "store"], "msg": "Extra"}]}, "code": None},
            "store",
        ),
        (said("Something is wrong"), None),
    ],
)
def test_a_refused_parameter_is_named(body: object, parameter: str | None) -> None:
    failure = failure_of(422, body)

    assert (failure.kind, failure.parameter) == (K.BAD_REQUEST, parameter)


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: signal.id)
def test_a_signal_has_an_id_that_can_name_a_group(signal: Signal) -> None:
    assert signal.id.replace("-", "_").isidentifier()
    assert signal.id.replace("-", "_") not in [
        other.id.replace("-", "_") for other in SIGNALS if other is not signal
    ]


@given(st.data())
def test_the_first_signal_counts_whatever_shows_it(data: st.DataObject) -> None:
    bodies = st.sampled_from([row[4] for row in ROWS])
    reports = st.builds(
        read_error,
        bodies,
        provider=st.sampled_from([row[2] for row in ROWS]),
        status=st.sampled_from([row[3] for row in ROWS]),
    )
    one, other = data.draw(reports), data.draw(reports)
    report = dataclasses.replace(
        one, words=(*one.words, *other.words, other.code or "x"), upstream=other.message
    )

    assert recognise(report, now=NOW).rule == next(
        signal.id for signal in SIGNALS if shows(signal, report)
    )


def shows(signal: Signal, report: ErrorReport) -> bool:
    """Whether a report shows a signal, looked at by itself."""
    status = report.effective_status
    if signal.providers and report.provider not in signal.providers:
        return False
    if signal.statuses and status not in signal.statuses:
        return False
    if signal.words is None and signal.says is None:
        return True
    symbols = [word for word in (report.code, report.type, *report.words) if word is not None]
    if signal.words and any(signal.words.fullmatch(word.lower()) for word in symbols):
        return True
    return bool(signal.says and signal.says.search(report.text))


def test_a_status_inside_a_200_answer_counts() -> None:
    failure = failure_of(200, said("Worker limit", code=502), in_band=True)

    assert failure == Failure(
        kind=K.SERVER_ERROR,
        message="Worker limit",
        provider="somebody",
        status=200,
        code="502",
        rule="status-server",
        evidence="status=502",
        in_band=True,
    )


def test_the_words_of_the_provider_behind_a_gateway_count() -> None:
    raw = '{"error":{"message":"maximum context length is 10 tokens"}}'
    body = said("Provider returned error", code=400, metadata={"provider_name": "X", "raw": raw})

    failure = failure_of(400, body, provider="openrouter")

    assert failure.kind is K.CONTEXT_TOO_LONG
    assert failure.message == f"Provider returned error: {raw}"


def test_a_code_of_one_provider_means_nothing_of_another() -> None:
    assert failure_of(429, {"code": "1300", "message": "No."}, provider="mistral").kind is (
        K.RATE_LIMIT
    )
    assert failure_of(400, said("No.", code="1300"), provider="zai").kind is K.CONTENT_FILTER
    assert failure_of(400, said("No.", code="1300")).kind is K.BAD_REQUEST


def test_a_quota_that_is_only_a_short_limit_stays_one() -> None:
    failure = failure_of(429, said("quota exceeded"), headers=[("Retry-After", "2")])

    assert (failure.kind, failure.retry_after_s) == (K.RATE_LIMIT, 2.0)


def test_a_day_quota_of_gemini_lasts_until_midnight_in_california() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "20s"}

    failure = failure_of(429, google("RESOURCE_EXHAUSTED", "Quota", PER_DAY, retry))

    assert failure.retry_after_s == 19 * 3600


def test_a_day_quota_of_openrouter_lasts_until_its_reset() -> None:
    reset = str(int(NOW.timestamp() * 1000) + 90_000)
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    body = said("free-models-per-day", code=429, metadata={"headers": headers})

    assert failure_of(429, body, provider="openrouter").retry_after_s == 90.0


def test_a_key_that_is_repeated_never_gets_through() -> None:
    body = said("Key my-own-canary!", code="my-own-canary", param="my-own-canary")

    report = read_error(body, provider="custom", status=400)
    failure = recognise(report, now=NOW, secrets=["my-own-canary"])

    assert "canary" not in repr(failure)
    assert failure.message == f"Key {MASK}!"


def test_what_was_flagged_and_what_was_generated_is_not_repeated() -> None:
    flagged = said("Flagged", metadata={"reasons": ["violence"], "flagged_input": "my diary"})
    generated = said("Failed", code="tool_use_failed", failed_generation="my diary")

    assert "diary" not in repr((failure_of(403, flagged), failure_of(400, generated)))


def test_an_answer_without_words_is_given_some() -> None:
    assert failure_of(503, "<html>", provider="openrouter").message == (
        "openrouter answered with status 503 and no message"
    )


def test_a_used_up_output_is_told_from_a_failure() -> None:
    body = said("Token limit reached", code=400)

    assert says_output_limit(read_error(body, provider="o", status=200, in_band=True))
    assert not says_output_limit(read_error(body, provider="o", status=400))
    assert not says_output_limit(read_error(said("x"), provider="o", status=200, in_band=True))


NOTHING = ErrorReport(provider="p", status=400)


@pytest.mark.parametrize(
    ("body", "report"),
    [
        (said("m", type="t", code=7, param="p"), {"message": "m", "type": "t", "code": "7"}),
        ([said("m", status="NOT_FOUND")], {"message": "m", "type": "NOT_FOUND"}),
        ({"error": "m"}, {"message": "m", "words": ("m",)}),
        ({"detail": "m"}, {"message": "m"}),
        ({"message": "m", "object": "error", "code": "1500"}, {"message": "m", "code": "1500"}),
        ({"type": "error", "error": {"type": "t", "message": "m"}}, {"message": "m", "type": "t"}),
        ({"code": 500, "msg": "m", "success": False}, {"message": "m", "code": "500"}),
        (
            {"statusCode": 400, "message": "m"},
            {"message": "m", "details": (("statusCode", "400"),)},
        ),
        ("m", {"message": "m"}),
        ("<html>m</html>", {}),
        ("", {}),
        (None, {}),
        (7, {}),
        ([], {}),
        ({"error": None, "message": "m"}, {"message": "m"}),
        ({"error": {"message": None, "code": True, "type": ["t"]}}, {}),
    ],
)
def test_an_error_is_read_whatever_its_shape(body: object, report: dict[str, Any]) -> None:
    read = read_error(body, provider="p", status=400)

    assert dataclasses.replace(read, parameter=None) == dataclasses.replace(NOTHING, **report)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
FIELDS = st.sampled_from(
    [
        *("error", "message", "code", "type", "status", "param", "detail", "details", "msg"),
        *("metadata", "raw", "headers", "availability", "reasons", "violations", "loc", "n_ctx"),
        *("innererror", "retryDelay", "reason", "quotaId", "X-RateLimit-Reset", "retry_after"),
    ]
)
BODIES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=20,
)


@given(
    BODIES,
    st.none() | st.integers(100, 599),
    st.lists(st.tuples(st.sampled_from(["Retry-After", "x-ratelimit-reset"]), st.text())),
    st.booleans(),
)
def test_whatever_a_provider_sends_is_a_failure(
    body: object, status: int | None, headers: list[tuple[str, str]], in_band: bool
) -> None:
    report = read_error(body, provider="p", status=status, headers=headers, in_band=in_band)

    failure = recognise(report, now=NOW)

    assert len(failure.message) <= 600
    assert failure.retry_after_s is None or failure.retry_after_s >= 0


@pytest.mark.parametrize(
    "unit",
    [
        *("model ", "context length ", "not support ", "violate ", "token count ", "length is 1 "),
        *("'a", "1,111", "try again in 1", "insufficient ", "image ", " " * 10, "sk-"),
        "exceeds the model ",
    ],
)
def test_a_hostile_message_costs_no_more_than_its_length(unit: str) -> None:
    # With runaway expressions this would outlast the test's time limit.
    for _ in range(20):
        failure_of(400, said(unit * 100_000))
