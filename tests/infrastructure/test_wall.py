"""The wall, seen from real clients."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import requests

from turnkeeper.infrastructure.wall.acts import Pause, Send, Voice
from turnkeeper.infrastructure.wall.answer import SIXTY_TOKENS, Answer, ToolCall, Usage
from turnkeeper.infrastructure.wall.behaviour import (
    Behaviour,
    BigEvent,
    CommentsOnly,
    CutAfter,
    Drip,
    Framing,
    InBandError,
    Malformed,
    Refuse,
    Replay,
    Reset,
    Stall,
)
from turnkeeper.infrastructure.wall.dialect import Asked, OpenAiDialect
from turnkeeper.infrastructure.wall.play import acts_of
from turnkeeper.infrastructure.wall.seen import Seen
from turnkeeper.infrastructure.wall.server import Wall

WAIT_S = 10.0
THREE = Answer(tokens=("one ", "two ", "three"))
DONE = "[DONE]"


@pytest.fixture
def wall() -> Iterator[Wall]:
    with Wall() as wall:
        yield wall


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


def ask(
    session: requests.Session, wall: Wall, *, model: str = "m", key: str = "k", stream: bool = True
) -> requests.Response:
    return session.post(
        f"{wall.base_url}/chat/completions",
        json={"model": model, "stream": stream},
        headers={"Authorization": f"Bearer {key}"},
        stream=stream,
        timeout=WAIT_S,
        allow_redirects=False,
    )


def data_of(body: bytes) -> list[str]:
    lines = body.decode().split("\n")
    return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]


def events_of(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(data) for data in data_of(body) if data != DONE]


def deltas_of(body: bytes) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events_of(body) if event["choices"]]


def text_of(body: bytes) -> str:
    return "".join(delta.get("content", "") for delta in deltas_of(body))


def spoken(session: requests.Session, wall: Wall, behaviour: Behaviour) -> bytes:
    wall.script(behaviour)
    with ask(session, wall) as response:
        return response.content


def request_bytes(*, model: str = "m", head: str = "") -> bytes:
    body = json.dumps({"model": model, "stream": True}).encode()
    first = f"POST /v1/chat/completions HTTP/1.1\r\nHost: wall\r\n{head}"
    return f"{first}Content-Length: {len(body)}\r\n\r\n".encode() + body


def raw_client(wall: Wall, sends: bytes = b"") -> socket.socket:
    port = int(wall.url.rpartition(":")[2])
    client = socket.create_connection(("127.0.0.1", port), WAIT_S)
    client.sendall(sends or request_bytes())
    return client


def read_until(client: socket.socket, mark: bytes) -> bytes:
    read = b""
    while mark not in read:
        data = client.recv(65_536)
        if not data:
            raise EOFError(read)
        read += data
    return read


def read_to_end(client: socket.socket) -> bytes:
    read = b""
    while data := client.recv(65_536):
        read += data
    return read


def raw_answer(wall: Wall, behaviour: Behaviour) -> bytes:
    wall.script(behaviour)
    with raw_client(wall, request_bytes(head="Connection: close\r\n")) as client:
        return read_to_end(client)


def left_by_client(wall: Wall, behaviour: Behaviour, mark: bytes) -> tuple[Seen, bytes]:
    """The request of a client that reads up to the mark and leaves, and what it read."""
    wall.script(behaviour)
    with raw_client(wall) as client:
        (seen,) = wall.await_seen(1, timeout_s=WAIT_S)
        read = read_until(client, mark) if mark else b""
    assert seen.sent.over.wait(WAIT_S)
    assert seen.client_gone.wait(WAIT_S)
    return seen, read


def wall_threads(wall: Wall) -> list[str]:
    port = wall.url.rpartition(":")[2]
    return [thread.name for thread in threading.enumerate() if f"wall-{port}" in thread.name]


class TestAnswer:
    def test_it_streams_role_tokens_finish_usage_and_the_end_marker(
        self, wall: Wall, session: requests.Session
    ) -> None:
        usage = Usage(input_tokens=7, output_tokens=3, reasoning_tokens=1, cached_tokens=2)

        body = spoken(session, wall, Answer(tokens=("a", "b"), usage=usage))

        head = {
            "id": "chatcmpl-wall",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
        }
        deltas: tuple[tuple[dict[str, str], str | None], ...] = (
            ({"role": "assistant", "content": ""}, None),
            ({"content": "a"}, None),
            ({"content": "b"}, None),
            ({}, "stop"),
        )
        assert events_of(body) == [
            *(
                {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                for delta, finish in deltas
            ),
            {
                **head,
                "choices": [],
                "usage": {
                    "prompt_tokens": 7,
                    "completion_tokens": 3,
                    "total_tokens": 10,
                    "prompt_tokens_details": {"cached_tokens": 2},
                    "completion_tokens_details": {"reasoning_tokens": 1},
                },
            },
        ]
        assert data_of(body)[-1] == DONE

    @pytest.mark.parametrize("text", ["", "one", "  two words\n\nand a tail \n", "ärger 🎈 x"])
    def test_a_text_streams_in_words_and_loses_nothing(
        self, wall: Wall, session: requests.Session, text: str
    ) -> None:
        assert text_of(spoken(session, wall, Answer(text=text))) == text

    def test_reasoning_comes_first_and_tool_calls_last(
        self, wall: Wall, session: requests.Session
    ) -> None:
        calls = (ToolCall(name="look", arguments=('{"at":', "1}")), ToolCall(name="go", id="x"))

        body = spoken(session, wall, Answer(reasoning=("hm",), tokens=("so",), tool_calls=calls))

        assert deltas_of(body)[1:-1] == [
            {"reasoning_content": "hm"},
            {"content": "so"},
            {"tool_calls": [_announced(0, "call_1", "look")]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"at":'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
            {"tool_calls": [_announced(1, "x", "go")]},
            {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        ]
        assert events_of(body)[-2]["choices"][0]["finish_reason"] == "tool_calls"

    def test_it_is_whole_where_no_stream_is_asked_for(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script(Answer(text="all at once", reasoning=("hm",)))

        completion = ask(session, wall, stream=False).json()

        message = {"role": "assistant", "content": "all at once", "reasoning_content": "hm"}
        assert completion["object"] == "chat.completion"
        assert completion["choices"] == [{"index": 0, "message": message, "finish_reason": "stop"}]
        assert completion["usage"]["completion_tokens"] == 4

    def test_it_may_name_another_model(self, wall: Wall, session: requests.Session) -> None:
        events = events_of(spoken(session, wall, Answer(text="x", model="fallback")))

        assert {event["model"] for event in events} == {"fallback"}

    def test_it_may_lack_the_end_marker_the_finish_and_the_usage(
        self, wall: Wall, session: requests.Session
    ) -> None:
        body = spoken(
            session, wall, Answer(tokens=("a",), done=False, finish=None, final_usage=False)
        )

        assert deltas_of(body) == [{"role": "assistant", "content": ""}, {"content": "a"}]
        assert DONE not in data_of(body)

    @pytest.mark.parametrize("burst", [False, True])
    def test_the_end_of_the_connection_may_end_it(self, wall: Wall, burst: bool) -> None:
        wall.script(Answer(text="x", framing="close", burst=burst))

        with raw_client(wall) as client:
            head, _, body = read_to_end(client).partition(b"\r\n\r\n")

        assert head.endswith(b"Connection: close")
        assert body.startswith(b"data: ")
        assert body.endswith(b"data: [DONE]\n\n")

    @pytest.mark.parametrize("framing", ["chunked", "close"])
    def test_a_burst_has_the_same_bytes(self, framing: Any) -> None:
        with Wall() as one, Wall() as other:
            slow = raw_answer(one, Answer(text="a b c", framing=framing))
            fast = raw_answer(other, Answer(text="a b c", framing=framing, burst=True))

        assert fast == slow

    def test_gaps_lie_between_tokens_and_one_silence_before_the_headers(self) -> None:
        voice = Voice(dialect=OpenAiDialect(), asked=Asked(model="m", streamed=True))

        acts = list(acts_of(Answer(tokens=("a", "b", "c"), before_s=5, gap_s=1), voice))

        silences = [
            act.for_s if isinstance(act, Pause) else act.tokens
            for act in acts
            if isinstance(act, Pause | Send)
        ]
        assert silences == [5, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]

    def test_a_burst_keeps_the_silence_before_the_headers(self) -> None:
        voice = Voice(dialect=OpenAiDialect(), asked=Asked(model="m", streamed=True))

        silence, burst = acts_of(Answer(tokens=("a", "b"), before_s=5, burst=True), voice)

        assert silence == Pause(for_s=5)
        assert isinstance(burst, Send)
        assert burst.tokens == 2

    def test_text_and_tokens_together_are_refused(self) -> None:
        with pytest.raises(ValueError, match="both text and tokens"):
            Answer(text="a", tokens=("a",))


def _announced(index: int, call_id: str, name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": ""}
    return {"index": index, "id": call_id, "type": "function", "function": function}


class TestRefuse:
    def test_a_mapping_is_sent_as_json_with_the_headers(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script(Refuse(status=429, body={"error": "slow"}, headers=(("Retry-After", "2"),)))

        response = ask(session, wall)

        assert (response.status_code, response.json()) == (429, {"error": "slow"})
        assert response.headers["Retry-After"] == "2"
        assert response.headers["Content-Type"] == "application/json"

    @pytest.mark.parametrize("body", ["<html>bad gateway</html>", b"<html>bad gateway</html>"])
    def test_a_text_is_sent_as_it_is(
        self, wall: Wall, session: requests.Session, body: str | bytes
    ) -> None:
        wall.script(Refuse(status=502, body=body, headers=(("content-type", "text/html"),)))

        response = ask(session, wall)

        assert (response.status_code, response.text) == (502, "<html>bad gateway</html>")
        assert response.headers["Content-Type"] == "text/html"

    def test_without_a_body_the_dialect_words_it(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script(Refuse(status=401))

        assert ask(session, wall).json()["error"]["code"] == "invalid_api_key"


class TestCuts:
    def test_a_reset_comes_before_the_headers(self, wall: Wall) -> None:
        wall.script(Reset())

        with raw_client(wall) as client, pytest.raises(ConnectionResetError):
            client.recv(1)

    def test_a_close_may_come_before_the_headers(self, wall: Wall) -> None:
        wall.script(CutAfter(tokens=None))

        with raw_client(wall) as client:
            assert client.recv(1) == b""

    def test_forty_of_sixty_tokens_arrive_before_the_close(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script(CutAfter(tokens=40))
        read: list[bytes] = []

        with (
            ask(session, wall) as response,
            pytest.raises(requests.exceptions.ChunkedEncodingError),
        ):
            read.extend(response.iter_content(None))

        assert text_of(b"".join(read)) == "".join(SIXTY_TOKENS.tokens[:40])
        assert wall.seen[0].sent.tokens == 40

    def test_a_reset_may_come_in_the_middle(self, wall: Wall) -> None:
        wall.script(CutAfter(tokens=1, then="reset", of=THREE))

        with raw_client(wall) as client:
            assert b"one " in read_until(client, b"one ")
            with pytest.raises(ConnectionResetError):
                read_to_end(client)

    def test_the_body_may_end_properly_though_the_answer_does_not(
        self, wall: Wall, session: requests.Session
    ) -> None:
        body = spoken(session, wall, CutAfter(tokens=2, then="end", of=THREE))

        assert text_of(body) == "one two "
        assert len(deltas_of(body)) == 3

    def test_the_cut_may_fall_within_an_event(self, wall: Wall, session: requests.Session) -> None:
        body = spoken(session, wall, CutAfter(tokens=1, bytes_more=12, then="end", of=THREE))

        assert body.endswith(b'one "},"finish_reason":null}]}\n\ndata: {"id":')

    def test_no_tokens_means_the_headers_alone(self, wall: Wall) -> None:
        wall.script(CutAfter(tokens=0))

        with raw_client(wall) as client:
            assert read_to_end(client).endswith(b"Transfer-Encoding: chunked\r\n\r\n")

    def test_a_place_beyond_the_answer_is_refused(self) -> None:
        with pytest.raises(ValueError, match="tokens is 4; its answer has 0 to 3"):
            CutAfter(tokens=4, of=THREE)


class TestStall:
    def test_it_may_come_before_the_headers(self, wall: Wall) -> None:
        seen, _ = left_by_client(wall, Stall(), b"")

        assert seen.sent.bytes == 0

    def test_it_may_come_after_the_headers(self, wall: Wall) -> None:
        seen, read = left_by_client(wall, Stall(after_tokens=0), b"\r\n\r\n")

        assert seen.sent.bytes == len(read)
        assert read.endswith(b"\r\n\r\n")

    def test_it_may_come_after_one_token(self, wall: Wall) -> None:
        seen, read = left_by_client(wall, Stall(after_tokens=1, of=THREE), b"one ")

        assert seen.sent.tokens == 1
        assert b"two" not in read

    @pytest.mark.parametrize("after_tokens", [None, 0, 2])
    def test_the_answer_follows_when_it_ends(
        self, wall: Wall, session: requests.Session, after_tokens: int | None
    ) -> None:
        body = spoken(session, wall, Stall(after_tokens=after_tokens, for_s=0.01, of=THREE))

        assert text_of(body) == "one two three"
        assert data_of(body)[-1] == DONE

    def test_a_close_may_follow(self, wall: Wall) -> None:
        wall.script(Stall(after_tokens=3, for_s=0.01, then="close", of=THREE))

        with raw_client(wall) as client:
            assert b'"three"' in read_to_end(client)

    def test_the_end_of_the_wall_wakes_it(self) -> None:
        with Wall() as wall:
            wall.script(Stall(after_tokens=1, of=THREE))
            client = raw_client(wall)
            read_until(client, b"one ")
        with client:
            rest = read_to_end(client)

        assert b"two" not in rest
        assert not wall.seen[0].client_gone.is_set()
        assert wall_threads(wall) == []

    def test_the_end_of_the_wall_wakes_it_though_a_request_waits(self) -> None:
        with Wall() as wall:
            wall.script(Stall(after_tokens=0, of=THREE))
            client = raw_client(wall, request_bytes() * 2)
            wall.await_seen(1, timeout_s=WAIT_S)
            client.sendall(request_bytes())
            read_until(client, b"\r\n\r\n")
        with client, suppress(ConnectionResetError):
            assert read_to_end(client) == b""

    def test_a_request_in_advance_does_not_end_it(self, wall: Wall) -> None:
        wall.script([Stall(after_tokens=0, for_s=0.05, of=THREE), Answer(text="second")])

        with raw_client(wall, request_bytes()) as client:
            wall.await_seen(1, timeout_s=WAIT_S)
            client.sendall(request_bytes())
            read = read_until(client, b"second")

        assert read.index(b"three") < read.index(b"second")


class TestOddBytes:
    def test_comments_come_for_a_time_and_then_the_answer(
        self, wall: Wall, session: requests.Session
    ) -> None:
        behaviour = CommentsOnly(every_s=0.01, for_s=0.03, comment=b": wait\n\n", of=THREE)

        body = spoken(session, wall, behaviour)

        assert body.startswith(b": wait\n\n" * 3 + b"data: ")
        assert text_of(body) == "one two three"

    def test_comments_without_an_answer_end_the_body(
        self, wall: Wall, session: requests.Session
    ) -> None:
        body = spoken(session, wall, CommentsOnly(every_s=0.01, for_s=0.02))

        assert body == b": keep-alive\n\n" * 2

    def test_comments_go_on_until_the_client_leaves(self, wall: Wall) -> None:
        behaviour = CommentsOnly(every_s=0.001, comment=b": x\n\n")
        seen, _ = left_by_client(wall, behaviour, b": x\n\n\r\n5\r\n: x\n\n")

        assert seen.sent.tokens == 0

    def test_a_malformed_event_lies_between_good_ones(
        self, wall: Wall, session: requests.Session
    ) -> None:
        data = data_of(spoken(session, wall, Malformed(after_tokens=1, of=THREE)))

        assert data[2] == '{"choices":[{"index":0,"delta":{"content":"unfin'
        assert json.loads(data[3])["choices"][0]["delta"] == {"content": "two "}
        assert data[-1] == DONE

    def test_nothing_may_follow_a_malformed_event(
        self, wall: Wall, session: requests.Session
    ) -> None:
        behaviour = Malformed(payload=b"\xff\xfe", after_tokens=0, then="end")

        assert spoken(session, wall, behaviour) == b"\xff\xfe"

    def test_a_malformed_event_may_break_the_connection(self, wall: Wall) -> None:
        wall.script(Malformed(payload=b"data: {", after_tokens=0, then="close"))

        with raw_client(wall) as client:
            assert read_to_end(client).endswith(b"7\r\ndata: {\r\n")

    def test_an_error_within_the_stream_ends_it(
        self, wall: Wall, session: requests.Session
    ) -> None:
        behaviour = InBandError(status=429, message="slow down", after_tokens=1, of=THREE)

        data = data_of(spoken(session, wall, behaviour))

        assert len(data) == 3
        assert json.loads(data[2])["error"]["code"] == "rate_limit_exceeded"
        assert json.loads(data[2])["error"]["message"] == "slow down"

    def test_a_drip_goes_on_until_the_client_leaves(self, wall: Wall) -> None:
        seen, _ = left_by_client(wall, Drip(gap_s=0.001, token="plop"), b"plop")

        assert seen.sent.tokens >= 1

    def test_a_drip_may_be_reasoning(self, wall: Wall) -> None:
        behaviour = Drip(gap_s=0.001, token="plop", kind="reasoning")
        _, read = left_by_client(wall, behaviour, b'plop"}')

        assert b'"delta":{"reasoning_content":"plop"}' in read

    @pytest.mark.parametrize("size_bytes", [0, 1, 65_536, 200_000])
    def test_a_big_event_has_its_size(
        self, wall: Wall, session: requests.Session, size_bytes: int
    ) -> None:
        body = spoken(session, wall, BigEvent(size_bytes=size_bytes))

        assert text_of(body) == "x" * size_bytes
        assert data_of(body)[-1] == DONE

    def test_an_event_without_end_flows_until_the_client_leaves(self, wall: Wall) -> None:
        seen, _ = left_by_client(wall, BigEvent(size_bytes=None), b"x" * 200)

        assert seen.sent.tokens == 0


class TestReplay:
    BODY = 'data: {"text":"grüße 🎈"}\n\ndata: [DONE]\n\n'.encode() * 20

    @pytest.mark.parametrize("framing", ["chunked", "close", "length"])
    @pytest.mark.parametrize("slice_bytes", [None, 1, 7, "random"])
    def test_the_recording_arrives_whole_however_it_is_sliced(
        self, wall: Wall, session: requests.Session, framing: Framing, slice_bytes: Any
    ) -> None:
        headers = (("X-Id", "9"), ("Content-Length", "3"), ("transfer-encoding", "chunked"))
        wall.script(
            Replay(
                body=self.BODY,
                status=203,
                headers=headers,
                slice_bytes=slice_bytes,
                framing=framing,
            )
        )

        response = ask(session, wall)

        assert (response.status_code, response.content) == (203, self.BODY)
        assert response.headers["X-Id"] == "9"

    def test_random_slices_are_the_same_for_the_same_seed(self) -> None:
        voice = Voice(dialect=OpenAiDialect(), asked=Asked(model="m", streamed=True))
        first, same, other = (
            list(acts_of(Replay(body=self.BODY, slice_bytes="random", seed=seed), voice))
            for seed in (1, 1, 2)
        )

        assert first == same
        assert first != other

    def test_no_slice_may_have_no_bytes(self) -> None:
        with pytest.raises(ValueError, match="slice_bytes is 0"):
            Replay(body=b"x", slice_bytes=0)


class TestScript:
    def test_each_behaviour_is_used_up_and_the_last_one_stays(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script([Refuse(status=500), Refuse(status=429), Answer(text="x")])

        statuses = [ask(session, wall, stream=False).status_code for _ in range(4)]

        assert statuses == [500, 429, 200, 200]

    def test_the_most_specific_place_counts(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Refuse(status=401), key="bad", model="m")
        wall.script(Refuse(status=402), key="bad")
        wall.script(Refuse(status=403), model="m")
        wall.script(Refuse(status=404))

        asked = [("m", "bad"), ("other", "bad"), ("m", "good"), ("other", "good")]
        statuses = [ask(session, wall, model=model, key=key).status_code for model, key in asked]

        assert statuses == [401, 402, 403, 404]

    def test_a_callable_decides_by_what_it_sees(
        self, wall: Wall, session: requests.Session
    ) -> None:
        def only_for_few_bytes(seen: Seen) -> Behaviour:
            return Refuse(status=400) if len(seen.raw) > 40 else Answer(text="fits")

        wall.script([only_for_few_bytes])

        statuses = [ask(session, wall, model=model).status_code for model in ("m" * 40, "m")]

        assert statuses == [400, 200]

    def test_what_a_callable_raises_comes_out_at_the_end(self, session: requests.Session) -> None:
        def broken(seen: Seen) -> Behaviour:
            raise LookupError(seen.path)

        wall = Wall()
        wall.script(broken)
        with pytest.raises(RuntimeError, match="callable") as caught, wall:
            assert ask(session, wall).status_code == 500

        assert repr(caught.value.__cause__) == "LookupError('/v1/chat/completions')"

    def test_an_empty_script_is_refused(self, wall: Wall) -> None:
        with pytest.raises(ValueError, match="at least one behaviour"):
            wall.script([])

    def test_requests_at_once_take_different_behaviours(self, wall: Wall) -> None:
        wall.script([Refuse(status=status) for status in range(500, 516)])

        def status_of(_: int) -> bytes:
            with raw_client(wall) as client:
                return read_until(client, b"\r\n").split(b" ")[1]

        with ThreadPoolExecutor(8) as pool:
            statuses = sorted(pool.map(status_of, range(16)))

        assert statuses == [str(status).encode() for status in range(500, 516)]

    def test_another_path_can_be_scripted(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Refuse(status=418, body="tea"))
        wall.script(Replay(body=b"[]"), path="/api/credits")

        assert session.get(f"{wall.url}/api/credits?x=1", timeout=WAIT_S).content == b"[]"
        assert wall.seen[0].target == "/api/credits?x=1"


class TestSeen:
    def test_it_tells_the_whole_request(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Answer(text="x"))

        ask(session, wall, model="gpt", key="sk-1", stream=False)

        (seen,) = wall.seen
        assert (seen.model, seen.key, seen.method) == ("gpt", "sk-1", "POST")
        assert (seen.path, seen.connection_no) == ("/v1/chat/completions", 1)
        assert dict(seen.body) == json.loads(seen.raw) == {"model": "gpt", "stream": False}
        assert seen.headers["content-type"] == "application/json"
        assert "sk-1" not in repr(seen)

    @pytest.mark.parametrize("name", ["x-api-key", "X-Goog-Api-Key"])
    def test_the_key_may_come_in_another_header(self, wall: Wall, name: str) -> None:
        wall.script(Reset())

        with raw_client(wall, request_bytes(head=f"{name}: secret\r\n")):
            (seen,) = wall.await_seen(1, timeout_s=WAIT_S)

        assert seen.key == "secret"

    def test_what_was_sent_is_counted(self, wall: Wall) -> None:
        read = raw_answer(wall, THREE)

        sent = wall.seen[0].sent
        assert sent.over.wait(WAIT_S)
        assert (sent.bytes, sent.tokens) == (len(read), 3)

    def test_requests_that_do_not_come_are_missed(self, wall: Wall) -> None:
        with pytest.raises(TimeoutError, match="0 of 1"):
            wall.await_seen(1, timeout_s=0.01)


class TestRoutes:
    def test_scripted_models_are_listed(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Reset(), model="b", key="x")
        wall.script(Reset(), model="a")
        wall.script(Reset())

        listed = session.get(f"{wall.base_url}/models", timeout=WAIT_S).json()

        assert [entry["id"] for entry in listed["data"]] == ["a", "b"]

    def test_the_list_itself_can_be_scripted(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Refuse(status=401), key="bad", path="/v1/models")

        asked = [
            session.get(
                f"{wall.base_url}/models", headers={"x-api-key": key}, timeout=WAIT_S
            ).status_code
            for key in ("bad", "good")
        ]

        assert asked == [401, 200]

    def test_an_unknown_route_is_not_found(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Answer(text="x"))

        response = session.get(f"{wall.url}/nowhere", timeout=WAIT_S)

        assert response.status_code == 404
        assert response.json()["error"]["message"] == "the wall has no GET /nowhere"

    def test_a_model_without_a_script_is_not_found(
        self, wall: Wall, session: requests.Session
    ) -> None:
        wall.script(Answer(text="x"), model="known")

        response = ask(session, wall, model="other")

        assert response.status_code == 404
        assert response.json()["error"]["code"] == "model_not_found"

    def test_several_dialects_share_a_wall(self, session: requests.Session) -> None:
        other = OpenAiDialect(base_path="/api/v1", reasoning_field="reasoning")
        with Wall(dialects=(OpenAiDialect(), other)) as wall:
            wall.script(Answer(reasoning=("hm",)))
            with session.post(
                f"{wall.url}/api/v1/chat/completions",
                json={"model": "m", "stream": True},
                timeout=WAIT_S,
            ) as response:
                body = response.content

        assert {"reasoning": "hm"} in deltas_of(body)


class TestRequests:
    def test_one_connection_carries_twenty(self, wall: Wall, session: requests.Session) -> None:
        wall.script([Answer(text="x"), Refuse(status=500), Answer(text="x", burst=True)])

        for _ in range(20):
            with ask(session, wall) as response:
                assert response.content

        assert (wall.connections, len(wall.seen)) == (1, 20)

    def test_a_client_may_ask_for_the_close(self, wall: Wall) -> None:
        assert raw_answer(wall, THREE).endswith(b"0\r\n\r\n")
        assert raw_answer(wall, Refuse(status=500, body="no")).endswith(b"close\r\n\r\nno")

    def test_a_chunked_body_is_read(self, wall: Wall, session: requests.Session) -> None:
        wall.script(Answer(text="x"))

        with session.post(
            f"{wall.base_url}/chat/completions", data=iter([b'{"mod', b'el":"c"}']), timeout=WAIT_S
        ) as response:
            assert response.status_code == 200

        assert wall.seen[0].raw == b'{"model":"c"}'

    def test_a_client_that_waits_for_leave_gets_it(self, wall: Wall) -> None:
        wall.script(Answer(text="x"))
        head, body = request_bytes(head="Expect: 100-continue\r\n").split(b"\r\n\r\n")

        with raw_client(wall, head + b"\r\n\r\n") as client:
            assert read_until(client, b"\r\n\r\n").startswith(b"HTTP/1.1 100 ")
            client.sendall(body)
            assert read_until(client, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")

    @pytest.mark.parametrize(
        ("sends", "status"),
        [
            pytest.param(b"nonsense\r\n\r\n", 400, id="no request line"),
            pytest.param(b"GET / HTTP/1.0\r\n\r\n", 505, id="an old version"),
            pytest.param(b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000, 431, id="a long head"),
            pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", 413, id="a long body"),
            pytest.param(b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, id="no length"),
            pytest.param(
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
                413,
                id="long chunks",
            ),
            pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n{", 400, id="no json"),
            pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n[]", 400, id="no object"),
        ],
    )
    def test_what_cannot_be_read_is_refused_and_the_connection_ends(
        self, sends: bytes, status: int
    ) -> None:
        with Wall(max_body_bytes=100) as wall, raw_client(wall, sends) as client:
            head, _, body = read_to_end(client).partition(b"\r\n\r\n")

        assert head.startswith(f"HTTP/1.1 {status} ".encode())
        assert json.loads(body)["error"]["message"]

    def test_a_client_that_still_sends_gets_its_refusal(self) -> None:
        head = b"POST / HTTP/1.1\r\nContent-Length: 20000000\r\n\r\n"
        with Wall(max_body_bytes=100) as wall, raw_client(wall, head) as client:
            client.sendall(b"x" * 20_000_000)
            assert read_to_end(client).startswith(b"HTTP/1.1 413 ")

    def test_a_client_that_leaves_in_its_request_is_not_seen(self, wall: Wall) -> None:
        with raw_client(wall, request_bytes()[:-1]):
            pass
        raw_answer(wall, Answer(text="x"))

        assert len(wall.seen) == 1


class TestLife:
    def test_the_end_leaves_no_thread_and_no_port(self) -> None:
        with Wall() as wall:
            wall.script([Answer(text="x"), Drip(gap_s=0.001), Stall(), BigEvent(size_bytes=None)])
            clients = [raw_client(wall) for _ in range(4)]
            idle = socket.create_connection(clients[0].getpeername(), WAIT_S)
            wall.await_seen(4, timeout_s=WAIT_S)
        for client in (*clients, idle):
            client.close()

        assert wall_threads(wall) == []
        with pytest.raises(ConnectionRefusedError):
            raw_client(wall)

    def test_it_can_be_entered_once(self, wall: Wall) -> None:
        with pytest.raises(RuntimeError, match="make a new one"):
            wall.__enter__()

    def test_it_has_no_address_before(self) -> None:
        with pytest.raises(RuntimeError, match="no port yet"):
            _ = Wall().url
