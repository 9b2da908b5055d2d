"""Google's own client, and our adapter, ask the wall the same."""

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from peers.exchange import (
    ABSENT,
    ASKS_TO_LOOK,
    IS_CALM,
    KEY,
    LOOK,
    MAX_TOKENS,
    QUESTION,
    RESULT,
    SCHEMA,
    SYSTEM,
    WHALE,
    Differences,
    ask,
    body_of,
    conversation,
    differences,
    headers_of,
)

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.model import Sampling
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.gemini import GeminiProvider
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.server import Wall

genai: Any = pytest.importorskip("google.genai", reason="`make test-peers` brings the client")
types: Any = genai.types
MODELS = ("gemini-2.5-flash", "gemini-3-flash-preview")
SIGNATURE = "c2lnbmF0dXJl"

SAMPLING = Sampling(
    temperature=0.5,
    top_p=0.9,
    top_k=40,
    frequency_penalty=0.25,
    presence_penalty=-0.25,
    stop=("END",),
    reasoning_effort="high",
)

INTENDED: Differences = {
    # The role of a system instruction says nothing, and the reference's examples have none.
    "system_instruction.role": (ABSENT, "user"),
}
LEVEL: Differences = {
    # The guide to thinking writes levels in small letters; the API takes both.
    "generation_config.thinking_config.thinking_level": ("high", "HIGH"),
}
UNSIGNED: Differences = {
    # A call of another provider's model has no signature, and is refused without one.
    "contents[1].parts[1].thought_signature": ("skip_thought_signature_validator", ABSENT),
}
INTENDED_TARGET = (
    # The client's default is the version without previews. Models that are previews, and fields
    # that are, are in the other one only; it has all that this one has.
    "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    "/v1/models/{model}:streamGenerateContent?alt=sse",
)
INTENDED_HEADERS: Differences = {
    # We ask for a stream and say so; the client takes anything.
    "accept": ("text/event-stream", "*/*"),
}
WRITTEN_BY_OTHERS = frozenset({"args", "response", "parameters_json_schema"})


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall(dialects=(GeminiDialect(), GeminiDialect(base_path="/v1"))) as wall:
        wall.script([ASKS_TO_LOOK, IS_CALM])
        yield wall


def let_client_ask(wall: Wall, model: str, *, signature: str = "") -> None:
    """A turn of two calls, the tool's result between them; what came first is sent back."""
    shown = types.Part.from_bytes(data=WHALE, mime_type="image/png")
    question = types.Content(role="user", parts=[types.Part.from_text(text=QUESTION), shown])
    look = types.FunctionDeclaration(**LOOK, parameters_json_schema=SCHEMA)
    thinks = {"thinking_level": "HIGH"} if "-3-" in model else {"thinking_budget": 24_576}
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM,
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        frequency_penalty=0.25,
        presence_penalty=-0.25,
        stop_sequences=["END"],
        max_output_tokens=MAX_TOKENS,
        tools=[types.Tool(function_declarations=[look])],
        thinking_config=types.ThinkingConfig(include_thoughts=True, **thinks),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    options = types.HttpOptions(base_url=wall.url)
    with genai.Client(api_key=KEY, http_options=options) as client:
        answer = client.models.generate_content(model=model, contents=[question], config=config)
        said = answer.candidates[0].content
        call = said.parts[-1]
        if signature:
            call.thought_signature = b64decode(signature)
        gave = types.FunctionResponse(id=call.function_call.id, name="look", response=RESULT)
        result = types.Content(role="user", parts=[types.Part(function_response=gave)])
        contents = [question, types.Content(role="model", parts=said.parts), result]
        stream = client.models.generate_content_stream(
            model=model, contents=contents, config=config
        )
        assert "".join(chunk.text or "" for chunk in stream) == IS_CALM.whole_text


def let_adapter_ask(wall: Wall, model: str, conversation: Conversation) -> None:
    http = HttpClient(user_agent="turnkeeper-tests")
    provider = GeminiProvider(http=http, clock=SystemClock(), base_url=f"{wall.url}/v1beta")
    ask(provider, conversation, name=model, sampling=SAMPLING, reasons=True)
    http.close()


def in_snake_case(body: Any) -> Any:
    """The same body: each field has two spellings, of which the client mixes both."""
    if isinstance(body, list):
        return [in_snake_case(entry) for entry in body]
    if not isinstance(body, dict):
        return body
    named = {re.sub(r"(?=[A-Z])", "_", name).lower(): value for name, value in body.items()}
    return {
        name: value if name in WRITTEN_BY_OTHERS else in_snake_case(value)
        for name, value in named.items()
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("signature", ["", SIGNATURE], ids=["unsigned", "signed"])
def test_the_adapter_asks_what_the_client_asks(wall: Wall, model: str, signature: str) -> None:
    let_client_ask(wall, model, signature=signature)
    let_adapter_ask(wall, model, conversation(signature=signature or None))

    theirs, ours = (in_snake_case(body_of(seen)) for seen in wall.seen[1:])
    of_model = LEVEL if "-3-" in model else {}
    of_call = UNSIGNED if "-3-" in model and not signature else {}
    assert differences(ours, theirs) == INTENDED | of_model | of_call


def test_the_key_and_the_method_are_the_clients(wall: Wall) -> None:
    model = MODELS[0]
    let_client_ask(wall, model)
    let_adapter_ask(wall, model, conversation())

    theirs, ours = wall.seen[1:]
    names = ("x-goog-api-key", "authorization", "content-type", "accept")
    assert differences(headers_of(ours, *names), headers_of(theirs, *names)) == INTENDED_HEADERS
    assert ours.headers["x-goog-api-key"] == KEY
    assert (ours.target, theirs.target) == tuple(t.format(model=model) for t in INTENDED_TARGET)
