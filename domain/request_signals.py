"""Signals about the request: its length, its content, its media, its tools, its model.

Source: the error documentation of the providers, and their answers as recorded.
"""

from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.signal import Signal, any_of

TOOLS = (
    Signal(
        id="tool-call",  # the model's fault, and its text may hold any other phrase
        kind=FailureKind.MALFORMED_TOOL_CALL,
        words=any_of("tool_use_failed", "malformed_function_call", "unexpected_tool_call"),
        says=any_of("tool call validation failed", "failed to (call a function|parse tool call)"),
    ),
)

CONTEXT = (
    Signal(
        id="context-code",
        kind=FailureKind.CONTEXT_TOO_LONG,
        words=any_of(
            r"(context_length|context_window|token_limit)_exceeded",
            "exceed_context_size_error",
            "model_context_window_exceeded",
            "string_too_long",
            "(request|payload)_too_large",
        ),
    ),
    Signal(
        id="context-zai",
        kind=FailureKind.CONTEXT_TOO_LONG,
        providers=frozenset({"zai"}),
        words=any_of("1261"),
    ),
    Signal(
        id="context-said",
        kind=FailureKind.CONTEXT_TOO_LONG,
        says=any_of(
            r"max(imum)? (context|prompt|model|sequence) length",
            r"(context (length|window|size|limit)|context length of only) .{0,40}exceed",
            r"(exceeds?|exceeded|longer than|greater than|larger than|overflows?) (the |its |"
            r"this )?(model'?s? |available |maximum |max )*context",
            r"context the overflows",
            r"exceed context limit",
            r"(prompt|input|request|message)s? (is|are) too (long|large)\b",
            r"prompt too long",
            r"(input )?token count .{0,40}exceeds",
            r"too many (input )?tokens",
            r"request too large for",
            r"tokens must be reduced",
            r"reduce (the|your) (length|message size|prompt|input)",
            r"`?inputs`? tokens \+ `?max_new_tokens`? must be",
        ),
    ),
)

CONTENT = (
    Signal(
        id="content-code",
        kind=FailureKind.CONTENT_FILTER,
        words=any_of(
            "content_filter(ed)?",
            "content_policy(_violation)?",
            "responsibleaipolicyviolation",
            "moderat(ed|ion_blocked)",
            "refusal",
            "safety",
            "prohibited_content",
            "data_inspection_failed",
        ),
    ),
    Signal(
        id="content-zai",
        kind=FailureKind.CONTENT_FILTER,
        providers=frozenset({"zai"}),
        words=any_of("1300", "1301"),
    ),
    Signal(
        id="content-said",
        kind=FailureKind.CONTENT_FILTER,
        says=any_of(
            r"\b(was|were|been) flagged",
            r"content (management |filtering )?policy",
            r"content exists risk",
            r"unsafe or sensitive content",
            r"violat\w{1,5} .{0,40}polic",
            r"rejected .{0,40}safety system",
        ),
    ),
)

CAPABILITY = (
    Signal(
        id="image-refused",
        kind=FailureKind.CAPABILITY,
        words=any_of(
            "invalid_image(_url|_format)?",
            r"image_(too_large|too_small|not_found|download_failed|parse_error)",
            "unsupported_image(_format|_media_type)?",
        ),
        says=any_of(
            r"support (image|video|vision|multimodal)",
            r"not support .{0,30}(images?|vision|video|multimodal)\b",
            r"(images?|image input|vision|video input|multimodal input) (is|are) not supported",
            r"unknown variant `(image|video)_url`",
            r"'?(image|video)_url'? (is|are) (only|not) supported",
            r"(could not|unable to|cannot|failed to) (process|download|decode|load|fetch) "
            r"(the |this |input )*image",
            r"not a multimodal model",
        ),
    ),
    Signal(
        id="tools-refused",
        kind=FailureKind.CAPABILITY,
        says=any_of(
            r"support (tools?|functions?)\b",
            r"not support .{0,30}(tools?|function call\w*)\b",
            r"(tools?|tool calling|tool choice|function calling) (is|are) not (supported|enabled)",
            r"enable-auto-tool-choice",
        ),
    ),
)

MODEL = (
    Signal(
        id="model-code",
        kind=FailureKind.MODEL_NOT_FOUND,
        words=any_of(
            r"model_(not_found|not_available|not_active|deprecated|decommissioned)",
            r"model_unavailable_upstream",
            r"(invalid|unknown)_model",
            r"deploymentnotfound",
            r"no_endpoints|wrong_endpoint|free_variant_ended",
            r"privacy_restricted|constraint_filtered",
        ),
    ),
    Signal(
        id="model-zai",
        kind=FailureKind.MODEL_NOT_FOUND,
        providers=frozenset({"zai"}),
        words=any_of("1211"),
    ),
    Signal(
        id="model-said",
        kind=FailureKind.MODEL_NOT_FOUND,
        says=any_of(
            r"not a valid model",
            r"supported (api )?model names",
            r"\bmodels?\b.{0,120}\b(not exist|not found|decommissioned|deprecated)",
            r"(no such|unknown|invalid|unsupported) model\b",
            r"^model: ",
            r"no (allowed providers|endpoints( found)?)",
            r"data policy",
        ),
    ),
)
