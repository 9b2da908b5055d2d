"""TensorZero's gateway, embedded, without observability."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from driver import main, messages
from tensorzero import TensorZeroGateway

os.environ["BENCH_KEY"] = "sk-bench"

PROVIDER = """
[models.chat.providers.p{number}]
type = "openai"
model_name = "{model}"
api_base = "{url}/"
api_key_location = "env::BENCH_KEY"
"""


def make(url: str, models: tuple[str, ...], _threads: int) -> Callable[..., str]:
    routing = ", ".join(f'"p{number}"' for number in range(len(models)))
    config = Path(tempfile.mkdtemp()) / "tensorzero.toml"
    config.write_text(
        "[gateway]\nobservability.enabled = false\ndisable_pseudonymous_usage_analytics = true\n"
        f"[models.chat]\nrouting = [{routing}]\n"
        + "".join(
            PROVIDER.format(number=number, model=model, url=url)
            for number, model in enumerate(models)
        )
    )
    gateway = TensorZeroGateway.build_embedded(config_file=str(config))
    system, *said = messages()
    asked = {"system": system["content"], "messages": said}

    def turn(first: Callable[[], None]) -> str:
        text = []
        for chunk in gateway.inference(
            model_name="chat",
            input=asked,
            stream=True,
            params={"chat_completion": {"max_tokens": 4096}},
        ):
            for part in chunk.content:
                if part.text:
                    if not text:
                        first()
                    text.append(part.text)
        return "".join(text)

    return turn


main(make, "tensorzero")
