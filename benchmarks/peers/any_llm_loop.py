"""any-llm, which has no fallback, in a loop of our own."""

from collections.abc import Callable

from any_llm import AnyLLM, AnyLLMError
from driver import main, messages
from openai import APIStatusError


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    provider = AnyLLM.create("openai", api_key="sk-bench", api_base=url, max_retries=0)
    said = messages()

    def ask(model: str, first: Callable[[], None]) -> str:
        text = []
        for chunk in provider.completion(model=model, messages=said, stream=True, max_tokens=4096):
            content = chunk.choices[0].delta.content if chunk.choices else None
            if content:
                if not text:
                    first()
                text.append(content)
        return "".join(text)

    def turn(first: Callable[[], None]) -> str:
        for model in models[:-1]:
            try:
                return ask(model, first)
            except (APIStatusError, AnyLLMError):
                continue
        return ask(models[-1], first)

    return turn


main(make, "any-llm-sdk")
