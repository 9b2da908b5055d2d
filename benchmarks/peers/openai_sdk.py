"""The openai SDK, asked again with the next model by a loop of our own."""

from collections.abc import Callable

from driver import main, messages
from openai import APIStatusError, OpenAI


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    client = OpenAI(base_url=url, api_key="sk-bench", max_retries=0)
    said = messages()

    def ask(model: str, first: Callable[[], None]) -> str:
        text = []
        for chunk in client.chat.completions.create(
            model=model,
            messages=said,
            stream=True,
            stream_options={"include_usage": True},
            max_tokens=4096,
        ):
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
            except APIStatusError:
                continue
        return ask(models[-1], first)

    return turn


main(make, "openai")
