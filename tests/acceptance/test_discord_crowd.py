"""Many turns at once in a few channels, under the limits that Discord sets."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from builders import a_request
from discord_town import town
from fakes import OneProvider, ScriptedProvider, says

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import TurnResult
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

TURNS, CHANNELS = 64, 8
MANNERS = Manners(max_chars=100, shows_typing=False)
PARTS = tuple(
    f"Part {number} of three, long enough to be a message of its own.\n\n" for number in (1, 2, 3)
)


def test_sixty_four_turns_keep_to_the_limits_and_to_their_order(tmp_path: Path) -> None:
    provider = OneProvider(ScriptedProvider(alpha=says(*PARTS)))
    settings = Settings(store="memory", data_dir=tmp_path, max_turns=TURNS, live_limits=False)
    with (
        town(manners=MANNERS) as there,
        Turnkeeper.open(settings, chat_providers=provider) as keeper,
        ThreadPoolExecutor(TURNS) as pool,
    ):
        keeper.configure.register_model("wall:alpha")
        keeper.configure.use_model("guild", "wall:alpha")
        keeper.configure.add_key(a_request().server, "wall", "sk-alpha-0123456789abcdef")
        channels = [there.discord.add_channel() for _ in range(CHANNELS)]

        def turn(number: int) -> TurnResult:
            request = a_request(channel_id=channels[number % CHANNELS], user_id=f"user-{number}")
            return keeper.run(request, there.sink())

        results = list(pool.map(turn, range(TURNS)))

        refused = Counter(one.path for one in there.discord.exchanges if one.status == 429)
        said = [there.seen(channel).answer for channel in channels]

    assert {result.status for result in results} == {TurnStatus.COMPLETED}
    assert said == [tuple(part.strip() for part in PARTS) * (TURNS // CHANNELS)] * CHANNELS
    assert all(times == 1 for times in refused.values()), refused
