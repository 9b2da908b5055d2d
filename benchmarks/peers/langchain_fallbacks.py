"""langchain-openai with `with_fallbacks`."""

from collections.abc import Callable

from driver import main, messages
from langchain_openai import ChatOpenAI


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    chats = [
        ChatOpenAI(model=model, base_url=url, api_key="sk-bench", max_retries=0, max_tokens=4096)
        for model in models
    ]
    chain = chats[0].with_fallbacks(chats[1:]) if chats[1:] else chats[0]
    said = messages()

    def turn(first: Callable[[], None]) -> str:
        text = []
        for chunk in chain.stream(said):
            if chunk.content:
                if not text:
                    first()
                text.append(chunk.content)
        return "".join(text)

    return turn


main(make, "langchain-openai", "langchain-core")
