"""litellm.Router with fallbacks, as it would be used by a bot."""

import os
from collections.abc import Callable

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else importing it asks the network

import litellm
from driver import main, messages

litellm.suppress_debug_info = True


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    names = [f"model-{number}" for number in range(len(models))]
    router = litellm.Router(
        model_list=[
            {
                "model_name": name,
                "litellm_params": {
                    "model": f"openai/{model}",
                    "api_base": url,
                    "api_key": "sk-bench",
                },
            }
            for name, model in zip(names, models, strict=True)
        ],
        fallbacks=[{names[0]: names[1:]}] if names[1:] else [],
        num_retries=0,
        disable_cooldowns=True,
    )
    said = messages()

    def turn(first: Callable[[], None]) -> str:
        text = []
        for chunk in router.completion(model=names[0], messages=said, stream=True, max_tokens=4096):
            content = chunk.choices[0].delta.content if chunk.choices else None
            if content:
                if not text:
                    first()
                text.append(content)
        return "".join(text)

    return turn


main(make, "litellm")
