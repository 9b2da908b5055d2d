"""How long the example bot's event loop is held up while 64 turns run beside it (goal 100 ms)."""

import asyncio
import importlib.util
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from benchmarks.results_file import keep
from benchmarks.wall_process import walled
from turnkeeper.domain.model import Endpoint
from turnkeeper.domain.owner import Owner
from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

TURNS, CHANNELS, ROUNDS = 64, 64, 5
GOAL_MS = 100.0
EVERY_S = 0.005
EXAMPLE = Path(__file__).parents[1] / "examples" / "discord_bot.py"


def example() -> ModuleType:
    """The example bot."""
    spec = importlib.util.spec_from_file_location("discord_bot_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def lags(
    bot: Any, keeper: Turnkeeper, pool: ThreadPoolExecutor, messages: Any
) -> list[float]:
    """How late the loop was, in milliseconds, each time that it had something to do."""
    seen: list[float] = []
    turns = asyncio.gather(*(bot.answer(keeper, pool, message) for message in messages))
    while not turns.done():
        due_s = time.perf_counter() + EVERY_S
        await asyncio.sleep(EVERY_S)
        seen.append((time.perf_counter() - due_s) * 1000)
    await turns
    return seen


def main() -> None:
    """Measure, print, keep the figures; fail above the goal."""
    bot, worst, typical = example(), list[float](), list[float]()
    with (
        tempfile.TemporaryDirectory() as folder,
        walled(50, 0.02) as url,
        DiscordDouble(limits=NONE) as discord,
        Turnkeeper.open(
            Settings(
                store="memory",
                data_dir=Path(folder),
                discord_token=discord.token,
                discord_url=discord.url,
                max_turns=TURNS,
            )
        ) as keeper,
        ThreadPoolExecutor(TURNS) as pool,
    ):
        owner = Owner.server("bench")
        endpoint = Endpoint(
            id=0, connection_id=1, label="m", base_url=url, model_name="streams", trusted=True
        )
        saved = keeper.configure.save_endpoint(owner, endpoint)
        keeper.configure.add_key(owner, saved.provider, "sk-bench")
        keeper.configure.use_model("bench", f"endpoint:{saved.id}")
        channels = [discord.add_channel() for _ in range(CHANNELS)]
        for _ in range(ROUNDS):
            messages = [
                SimpleNamespace(
                    id=int(discord.say(channel, "Hello?")),
                    content="Hello?",
                    guild=SimpleNamespace(id="bench"),
                    channel=SimpleNamespace(id=int(channel), parent_id=None),
                    author=SimpleNamespace(id=7, bot=False),
                )
                for channel in channels
            ]
            seen = asyncio.run(lags(bot, keeper, pool, messages))
            worst.append(max(seen))
            typical.append(statistics.median(seen))
    row = {"median_ms": statistics.median(typical), "most_ms": statistics.median(worst)}
    print(
        f"event loop lag, {TURNS} turns: median {row['median_ms']:.1f} ms,"
        f" most {row['most_ms']:.1f} ms (goal {GOAL_MS:.0f})"
    )
    keep("discord_bot", {f"{TURNS} turns": row}, rounds=ROUNDS)
    sys.exit(row["most_ms"] > GOAL_MS)


if __name__ == "__main__":
    main()
