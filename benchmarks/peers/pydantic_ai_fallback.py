"""pydantic-ai's FallbackModel and `Agent.run_stream_sync`, one agent a thread."""

import threading
from collections.abc import Callable

from driver import main, messages
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def _message(said: dict[str, str]) -> ModelRequest | ModelResponse:
    match said["role"]:
        case "system":
            return ModelRequest(parts=[SystemPromptPart(content=said["content"])])
        case "user":
            return ModelRequest(parts=[UserPromptPart(content=said["content"])])
    return ModelResponse(parts=[TextPart(content=said["content"])])


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    of_thread = threading.local()
    *history, last = messages()
    earlier = [_message(said) for said in history]

    def agent() -> Agent:
        if not hasattr(of_thread, "agent"):
            client = AsyncOpenAI(base_url=url, api_key="sk-bench", max_retries=0)
            provider = OpenAIProvider(openai_client=client)
            chats = [OpenAIChatModel(model, provider=provider) for model in models]
            of_thread.agent = Agent(FallbackModel(*chats) if chats[1:] else chats[0])
        return of_thread.agent

    def turn(first: Callable[[], None]) -> str:
        text = []
        run = agent().run_stream_sync(
            last["content"], message_history=earlier, model_settings={"max_tokens": 4096}
        )
        for piece in run.stream_text(delta=True, debounce_by=None):
            if not text:
                first()
            text.append(piece)
        return "".join(text)

    return turn


main(make, "pydantic-ai-slim")
