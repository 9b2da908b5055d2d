"""A provider whose code is imported with its first call."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from builders import a_model
from contracts.chat_provider import CANARY

from turnkeeper.application.ports.chat_provider import ChatCall, ChatProvider
from turnkeeper.application.ports.runner import Stop
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.deadline import NEVER, Deadline
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.stream import StreamEvent, TextDelta
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.providers.late import LateProvider, native_provider
from turnkeeper.infrastructure.providers.natives import ANTHROPIC, GOOGLE, NOVELAI, Native
from turnkeeper.infrastructure.threads import ThreadStop
from turnkeeper.infrastructure.wall.server import Wall

KEY = Secret(CANARY)
CALL = ChatCall(model=a_model("kayra-v1"), conversation=Conversation.of("hello"))


class Echo(ChatProvider):
    def stream(
        self, call: ChatCall, *, key: Secret | None, stop: Stop, deadline: Deadline
    ) -> Iterator[StreamEvent]:
        yield TextDelta(f"{call.model.name} {key is KEY}")


def test_it_is_made_with_its_first_call_and_kept() -> None:
    made: list[Echo] = []

    def make() -> Echo:
        made.append(Echo())
        return made[-1]

    late = LateProvider(make)
    assert not made
    for _ in range(2):
        events = late.stream(CALL, key=KEY, stop=ThreadStop(), deadline=NEVER)
        assert list(events) == [TextDelta("kayra-v1 True")]
    assert len(made) == 1


@pytest.mark.parametrize(
    ("native", "path"),
    [
        (GOOGLE, "/models/kayra-v1:streamGenerateContent"),
        (ANTHROPIC, "/messages"),
        (NOVELAI, "/ai/generate-stream"),
    ],
)
def test_each_is_asked_in_its_own_form_where_it_was_moved_to(native: Native, path: str) -> None:
    http = HttpClient(user_agent="turnkeeper-tests", connect_timeout_s=2.0)
    with Wall() as wall:
        late = native_provider(native, http=http, clock=SystemClock(), base_url=f"{wall.url}/x")
        list(late.stream(CALL, key=KEY, stop=ThreadStop(), deadline=NEVER))

        assert [seen.path for seen in wall.seen] == [f"/x{path}"]
    http.close()


def test_its_code_is_not_imported_before() -> None:
    code = (
        "import sys, turnkeeper.infrastructure.providers.late\n"
        "print(*(name.rpartition('.')[2] for name in sys.modules if '.providers.' in name))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert set(printed.stdout.split()) == {"late", "natives"}
