"""Who speaks OpenAI's chat completions, and in what each differs.

Source: the providers' API references; their answers as recorded.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.model import Endpoint

MAX_TOKENS = "max_tokens"
MAX_COMPLETION_TOKENS = "max_completion_tokens"

_PLAIN = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"})
_WIDE = _PLAIN | {"top_k", "min_p", "logit_bias"}
_ON_OFF = (("none", "disabled"), ("low", "enabled"), ("medium", "enabled"), ("high", "enabled"))
_NONE_OR_HIGH = (("low", "high"), ("medium", "high"))
_MOST_ADDRESSES = 1_024  # whose dialect is remembered


@frozen
class Dialect:
    """One provider's way of speaking it; what is not said is the common way.

    Attributes:
        name: The name under which it is registered.
        base_url: Up to and with the version; empty where the endpoint names it.
        key_env: The environment variable that people keep its key in.
        family: By whose rules its errors are recognised; empty is its own name.
        aliases: Further names.
        hosts: The hosts, and the ports of local servers such as ``:11434``, by which an endpoint
            that somebody named is known to speak it.
        key_header: The header that carries the bare key; empty is a bearer token.
        output_field: What the longest answer is called.
        sampling: The sampling parameters that it knows.
        most_stops: How many stop sequences it takes.
        asks_for_usage: Whether usage comes only when asked for.
        effort_field: Where the reasoning effort goes: as a text, or within "reasoning" or
            "thinking"; empty is nowhere.
        efforts: Pairs of an effort and its word for it; others are sent as they are.
        short_tool_ids: Whether ids of tool calls must be nine letters and digits.
        reasoning_back: In which field reasoning is sent back within a tool turn; empty is not.
        prefix_flags: What asks to go on with an answer: pairs for the request.
        marks_prefix: Whether the message to go on with is marked.
        prefix_base_url: The address for such requests; empty is the usual one.
        takes_context_size: Whether the request may set the size of the context.
        takes_attribution: Whether it wants to know which app asks.
    """

    name: str
    base_url: str = ""
    key_env: str = ""
    family: str = ""
    aliases: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    key_header: str = ""
    output_field: str = MAX_TOKENS
    sampling: frozenset[str] = _WIDE
    most_stops: int = 4
    asks_for_usage: bool = True
    effort_field: str = "reasoning_effort"
    efforts: tuple[tuple[str, str], ...] = ()
    short_tool_ids: bool = False
    reasoning_back: str = ""
    prefix_flags: tuple[tuple[str, bool], ...] = ()
    marks_prefix: bool = False
    prefix_base_url: str = ""
    takes_context_size: bool = False
    takes_attribution: bool = False

    @property
    def speaker(self) -> str:
        """Whose errors it sends."""
        return self.family or self.name


CUSTOM = Dialect(name="custom", takes_context_size=True)

DIALECTS = (
    Dialect(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_env="OPENAI_API_KEY",
        hosts=("api.openai.com",),
        output_field=MAX_COMPLETION_TOKENS,
        sampling=_PLAIN | {"logit_bias"},
    ),
    Dialect(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_env="OPENROUTER_API_KEY",
        hosts=("openrouter.ai",),
        effort_field="reasoning",
        reasoning_back="reasoning_details",
        takes_attribution=True,
    ),
    Dialect(
        name="deepseek",
        base_url="https://api.deepseek.com",
        key_env="DEEPSEEK_API_KEY",
        hosts=("api.deepseek.com",),
        sampling=_PLAIN,
        most_stops=16,
        effort_field="thinking",
        efforts=_ON_OFF,
        reasoning_back="reasoning_content",
        marks_prefix=True,
        prefix_base_url="https://api.deepseek.com/beta",
    ),
    Dialect(
        name="zai",
        base_url="https://api.z.ai/api/paas/v4",
        key_env="ZAI_API_KEY",
        aliases=("z.ai", "zhipu"),
        hosts=("api.z.ai", "open.bigmodel.cn"),
        sampling=frozenset({"temperature", "top_p", "stop"}),
        most_stops=1,
        effort_field="thinking",
        efforts=_ON_OFF,
        reasoning_back="reasoning_content",
    ),
    Dialect(
        name="zai-coding",  # keys of the coding plan are refused elsewhere
        base_url="https://api.z.ai/api/coding/paas/v4",
        key_env="ZAI_API_KEY",
        family="zai",
        sampling=frozenset({"temperature", "top_p", "stop"}),
        most_stops=1,
        effort_field="thinking",
        efforts=_ON_OFF,
        reasoning_back="reasoning_content",
    ),
    Dialect(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        key_env="MISTRAL_API_KEY",
        hosts=("api.mistral.ai",),
        sampling=_PLAIN,
        asks_for_usage=False,
        efforts=_NONE_OR_HIGH,
        short_tool_ids=True,
        marks_prefix=True,
    ),
    Dialect(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_env="GROQ_API_KEY",
        hosts=("api.groq.com",),
        output_field=MAX_COMPLETION_TOKENS,
        sampling=_PLAIN,
    ),
    Dialect(
        name="xai",
        base_url="https://api.x.ai/v1",
        key_env="XAI_API_KEY",
        aliases=("grok",),
        hosts=("api.x.ai",),
        output_field=MAX_COMPLETION_TOKENS,
        sampling=_PLAIN,
    ),
    Dialect(
        name="nvidia",
        base_url="https://integrate.api.nvidia.com/v1",
        key_env="NVIDIA_API_KEY",
        aliases=("nim",),
        hosts=("integrate.api.nvidia.com",),
        sampling=_PLAIN,
    ),
    Dialect(
        name="azure",
        key_env="AZURE_OPENAI_API_KEY",
        hosts=("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"),
        key_header="api-key",
        output_field=MAX_COMPLETION_TOKENS,
        sampling=_PLAIN | {"logit_bias"},
    ),
    Dialect(
        name="vllm",
        base_url="http://localhost:8000/v1",
        key_env="VLLM_API_KEY",
        reasoning_back="reasoning_content",
        prefix_flags=(("add_generation_prompt", False), ("continue_final_message", True)),
    ),
    Dialect(
        name="ollama",
        base_url="http://localhost:11434/v1",
        key_env="OLLAMA_API_KEY",
        hosts=("ollama.com", ":11434"),
        sampling=_PLAIN,
        takes_context_size=True,
    ),
    Dialect(
        name="llamacpp",
        base_url="http://localhost:8080/v1",
        key_env="LLAMA_API_KEY",
        aliases=("llama.cpp",),
        reasoning_back="reasoning_content",
    ),
    Dialect(
        name="lmstudio",
        base_url="http://localhost:1234/v1",
        key_env="LM_API_TOKEN",
        aliases=("lm-studio", "lm studio"),
        hosts=(":1234",),
    ),
    CUSTOM,
)


def dialect_at(endpoint: Endpoint) -> Dialect:
    """The dialect that is spoken at an endpoint: its host's or port's, else the common one."""
    return _spoken_at(endpoint.base_url)


@lru_cache(_MOST_ADDRESSES)
def _spoken_at(base_url: str) -> Dialect:
    place = urlsplit(base_url)
    host = (place.hostname or "").lower()
    port = f":{_port(place.netloc)}"
    for dialect in DIALECTS:
        if any(known in (host, port) or host.endswith(f".{known}") for known in dialect.hosts):
            return dialect
    return CUSTOM


def _port(netloc: str) -> str:
    port = netloc.rpartition(":")[2]
    return port if port.isdigit() else ""
