"""Every provider fault with every fault of Discord: what stands in the channel at the end.

The channel holds exactly one whole answer and at most one notice, or what the last attempt said
and at most one error. Where Discord itself refuses the deletion, or nobody can be reached any
more, the pair is named below.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from discord_town import Seen, Town, town
from streets import QUESTION, TEXTS, WAYS, House, Street

from turnkeeper.domain.contract import breaches
from turnkeeper.domain.events import Entry, MessageStuck
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import Persona, TurnRequest, TurnResult
from turnkeeper.infrastructure.discord.manners import Manners
from turnkeeper.infrastructure.discord_double.faults import FAULTS as DISCORD_FAULTS
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.wall.fault import STORY, Fault
from turnkeeper.infrastructure.wall.faults import FAULTS as PROVIDER_FAULTS
from turnkeeper.infrastructure.wall.faults import limited_for
from turnkeeper.infrastructure.wall.server import Wall

MANNERS = Manners(max_chars=600, shows_typing=False)
IN_SHORT = {"S01": limited_for(1)}
"""So that a wait that is the same everywhere takes half its time."""
FAULTS = [
    replace(one, primary=IN_SHORT.get(one.id, one.primary))
    for one in PROVIDER_FAULTS
    if isinstance(one, Fault)
]
BREAKS_OFF = {"S08", "S09", "S10", "S14"}
"""Something stands in the channel when the provider breaks off."""
NOTHING_ARRIVES = {
    "all posts fail",
    "the edge blocks with a page",
    "the edge blocks with a line",
    "the edge blocks with JSON",
    "the edge forbids",
}
NOBODY_IS_THERE = {
    "the channel is deleted mid-stream",
    "the channel is hidden mid-stream",
    "sending is forbidden mid-stream",
    "the thread is locked mid-stream",
    "the token is revoked mid-stream",
}
OF_THE_BOT_ALONE = {
    "the channel is hidden mid-stream",
    "sending is forbidden mid-stream",
    "the token is revoked mid-stream",
}
"""A webhook needs no permission and no token of the bot."""
NOT_DONE = {
    "a post fails and was not done",
    "a post meets a bad gateway",
    "a post is lost",
}
"""A webhook's post is not made again: nobody can tell whether it is only late."""
STUCK = {(provider, "deletes are refused") for provider in BREAKS_OFF}
"""Pairs in which Discord itself refuses to delete what the first model had said."""


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall(dialects=(WAYS[0].dialect,)) as wall:
        street = Street(WAYS[0], wall, http, tmp_path_factory.mktemp("street"))
        yield street
        street.close()
    http.close()


class Evening:
    """One turn in one channel, with one fault on each side."""

    def __init__(self, street: Street, town: Town, fault: Fault, *, in_thread: bool) -> None:
        self.town = town
        self.house = House(street, fault.limits)
        self.house.keeper.configure.set_content_filter(self.house.server.id, fault.content_filter)
        self.house.script(fault.met_by_primary(street.way.family), fault.fallback)
        self.channel = town.discord.add_channel()
        self.thread = town.discord.add_thread(self.channel) if in_thread else None
        self.asked = town.discord.say(self.place, "Hello?")
        self.entries: list[Entry] = []

    @property
    def place(self) -> str:
        return self.thread or self.channel

    @property
    def seen(self) -> Seen:
        return self.town.seen(self.place)

    def run(self, persona: Persona) -> TurnResult:
        request = TurnRequest(
            conversation=QUESTION,
            server_id=self.house.server.id,
            channel_id=self.place,
            parent_channel_id=self.channel if self.thread else None,
            trigger_id=self.asked,
            persona=persona,
        )
        result = self.house.keeper.run(request, self.town.sink(), on_event=self.entries.append)
        assert breaches(tuple(self.entries)) == ()
        assert all(len(text) <= 2000 for text in self.seen.answer)
        return result

    @property
    def stuck(self) -> set[str]:
        return {
            entry.event.message_id
            for entry in self.entries
            if isinstance(entry.event, MessageStuck)
        }


def the_end(fault: Fault, trouble: str, speaker: str) -> tuple[TurnStatus, Seen]:
    """How the turn ends, and what people see then."""
    verdict = fault.verdict
    if trouble in NOTHING_ARRIVES:
        return TurnStatus.ERROR, Seen(answer=())
    if trouble in NOT_DONE and speaker == "webhook":
        return TurnStatus.ERROR, Seen(answer=(), errors=1)
    answer = TEXTS[verdict.answered_by]
    return verdict.status, Seen(
        answer=(answer,) if answer else (),
        notices=int(verdict.answered_by == "fallback"),
        errors=int(verdict.answered_by is None),
    )


SPEAKERS = {
    "bot": Persona(),
    "webhook": Persona(id="mira", name="Mira", is_alter=True),
}


PAIRS = [
    pytest.param(fault, trouble, speaker, id=f"{fault.id}, {trouble}, {speaker}")
    for fault in FAULTS
    for trouble in DISCORD_FAULTS
    for speaker in SPEAKERS
    if speaker == "bot" or fault.id in {"S02", "S08"}  # elsewhere it makes no difference
]


@pytest.mark.parametrize(("fault", "trouble", "speaker"), PAIRS)
def test_the_channel_holds_one_answer(
    fault: Fault, trouble: str, speaker: str, street: Street
) -> None:
    with town(manners=MANNERS) as there:
        evening = Evening(street, there, fault, in_thread="thread" in trouble)
        there.discord.break_with(DISCORD_FAULTS[trouble])

        result = evening.run(SPEAKERS[speaker])

        seen = evening.seen
        is_gone = trouble in NOBODY_IS_THERE
        if speaker == "webhook" and trouble in OF_THE_BOT_ALONE:
            is_gone = False
        if is_gone and fault.id in BREAKS_OFF:
            assert result.status is TurnStatus.SKIPPED
            assert (seen.notices, seen.errors) == (0, 0)
            assert all(text in STORY.whole_text for text in seen.answer)
        elif (fault.id, trouble) in STUCK:
            ids = there.said_by_us(evening.place)
            assert seen.answer[-1] == TEXTS["fallback"]
            assert set(ids[:-1]) == evening.stuck
        else:
            assert (result.status, seen) == the_end(fault, trouble, speaker)
            assert evening.stuck == set()
        assert there.discord.webhooks(evening.channel) == () or speaker == "webhook"
