"""The names that OpenTelemetry has for what models do.

Source: the OpenTelemetry semantic conventions for generative AI, which are in development still.
"""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
MAX_TOKENS = "gen_ai.request.max_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
ERROR_TYPE = "error.type"

CHAT = "chat"
EXECUTE_TOOL = "execute_tool"
FUNCTION = "function"

_WELL_KNOWN = {"google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}


def provider_name(provider: str) -> str:
    """What the conventions call the provider; its own name where they say nothing."""
    family = provider.partition(":")[0]
    return _WELL_KNOWN.get(family, family)
