"""The wall and a Discord, in a process of their own: ``python -m chaos.providers SEED``.

It prints its addresses as one line of JSON and waits for the end of its standard input; then it
prints what stands in each of its channels, and ends.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from chaos.script import WELL
from sweepers import environment

from turnkeeper.infrastructure.discord_double.double import DiscordDouble
from turnkeeper.infrastructure.discord_double.limits import NONE
from turnkeeper.infrastructure.wall.anthropic_dialect import AnthropicDialect
from turnkeeper.infrastructure.wall.behaviour import Behaviour, Refuse
from turnkeeper.infrastructure.wall.dialect import OpenAiDialect
from turnkeeper.infrastructure.wall.fault import (
    FROM_FALLBACK,
    FROM_PRIMARY,
    Family,
    Fault,
    Steps,
)
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.gemini_dialect import GeminiDialect
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall

PRIMARY, FALLBACK = "alpha", "beta"
CHANNELS = 160
REMEMBERED = 100
DIALECTS = (
    OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning"),
    GeminiDialect(),
    AnthropicDialect(),
    OpenAiDialect(),
)
PATHS: tuple[tuple[str, Family], ...] = (
    ("/api/v1/", "openrouter"),
    ("/v1beta/", "google"),
    ("/v1/messages", "anthropic"),
)
MARK = re.compile(rb"\[(\w+) (\d+)\]")
BY_ID = {fault.id: fault for fault in FAULTS if isinstance(fault, Fault)}


def marked(fault: str, number: int) -> str:
    """What a prompt says so that its providers know what to do."""
    return f"[{fault} {number}] What does a keeper do when the lamp goes out?"


class Fates:
    """Does to each request what its prompt says, the steps of a fault one after the other."""

    def __init__(self) -> None:
        self._lock = Lock()  # guards the counts; calls come in from many connections
        self._asked: Counter[tuple[int, str]] = Counter()

    def __call__(self, seen: Seen) -> Behaviour:
        mark = MARK.search(seen.raw)
        if mark is None:
            return Refuse(status=500, body="the prompt names no fault")
        steps = self._steps(mark[1].decode(), seen)
        place = int(mark[2]), seen.model or ""
        with self._lock:
            step = steps[min(self._asked[place], len(steps) - 1)]
            self._asked[place] += 1
        return step(seen) if callable(step) else step

    def _steps(self, fault: str, seen: Seen) -> Steps:
        is_primary = seen.model == PRIMARY
        if fault == WELL:
            return (FROM_PRIMARY if is_primary else FROM_FALLBACK,)
        if not is_primary:
            return BY_ID[fault].fallback
        families = (family for path, family in PATHS if seen.path.startswith(path))
        return BY_ID[fault].met_by_primary(next(families, "openai"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where everything is."""

    wall: str
    discord: str
    token: str
    channels: tuple[str, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Addresses":
        return cls(**{**values, "channels": tuple(values["channels"])})


class Outside:
    """The process with all that is outside of turnkeeper."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        self.addresses = Addresses.of(json.loads(process.stdout.readline()))

    def end(self) -> dict[str, list[str]]:
        """The ids of the answers' messages that stand in its channels."""
        said, _ = self._process.communicate("")
        shown: dict[str, list[str]] = json.loads(said)
        return shown


@contextmanager
def outside() -> Iterator[Outside]:
    """Wall and Discord, as long as the `with` lasts."""
    command = [sys.executable, "-m", "chaos.providers"]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Outside(process)
        finally:
            if process.poll() is None:
                process.kill()


def main() -> None:
    with (
        Wall(dialects=DIALECTS, remembered=REMEMBERED) as wall,
        DiscordDouble(limits=NONE) as discord,
    ):
        wall.script(Fates())
        channels = [discord.add_channel(f"channel-{number}") for number in range(CHANNELS)]
        addresses = {
            "wall": wall.url,
            "discord": discord.url,
            "token": discord.token,
            "channels": channels,
        }
        sys.stdout.write(json.dumps(addresses) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
        shown = {channel: _answers(discord, channel) for channel in channels}
        sys.stdout.write(json.dumps(shown))
        sys.stdout.flush()


def _answers(discord: DiscordDouble, channel: str) -> list[str]:
    """The bot's messages, without notices and error cards."""
    return [
        one.id
        for one in discord.visible(channel)
        if one.application_id and one.content and not one.components and not one.embeds
    ]


if __name__ == "__main__":
    main()
