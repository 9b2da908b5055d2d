"""The endpoint, as a WSGI server calls it."""

import io
import json
import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import orjson
import pytest
from fakes import FrozenClock
from hypothesis import given
from hypothesis import strategies as st
from signed import NOW_S, PING, Answered, Signer, a_press, served

from turnkeeper.domain.press import OpenModal, Press, Reply, Whisper
from turnkeeper.interfaces.interactions.app import InteractionsApp
from turnkeeper.interfaces.interactions.body import MAX_BODY_BYTES
from turnkeeper.interfaces.interactions.signature import SignatureCheck

DISCORD = Signer()
PLANTED = "sk-planted-0123456789"


def echo(press: Press) -> Reply:
    return Whisper(text=f"{press.button} by {press.user_id}")


def an_app(answer: Any = echo, *, with_modal: bool = True) -> InteractionsApp:
    check = SignatureCheck(DISCORD.public_key, clock=FrozenClock())
    return InteractionsApp(check=check, answer=answer, with_modal=with_modal)


@pytest.fixture
def app() -> InteractionsApp:
    return an_app()


def posted(
    app: InteractionsApp,
    body: bytes,
    environ: Mapping[str, object] = MappingProxyType({}),
    *,
    signer: Signer = DISCORD,
) -> Answered:
    return served(app, body, signer.headers(body), environ)


def packed(payload: object) -> bytes:
    return json.dumps(payload).encode()


class Untouched(io.RawIOBase):
    """A body that must not be read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("the body was read")


# ── what Discord sends ──────────────────────────────────────────────────────────────────────


def test_a_ping_is_answered_with_a_pong(app: InteractionsApp) -> None:
    answered = posted(app, packed(PING))

    assert (answered.status, answered.data) == (200, {"type": 1})


def test_a_press_is_answered(app: InteractionsApp) -> None:
    answered = posted(app, packed(a_press("click_one")))

    assert (answered.status, answered.data["data"]["content"]) == (200, "click_one by 7")


def test_the_sending_of_a_modal_is_answered(app: InteractionsApp) -> None:
    answered = posted(app, packed(a_press("click_one", kind=5)))

    assert (answered.status, answered.data["type"]) == (200, 4)


@pytest.mark.parametrize(("with_modal", "kind"), [(True, 9), (False, 4)])
def test_modals_are_opened_where_they_are_wanted(with_modal: bool, kind: int) -> None:
    modal = OpenModal(title="t", texts=("x",), otherwise=Whisper(text="x"))

    answered = posted(an_app(lambda press: modal, with_modal=with_modal), packed(a_press()))

    assert answered.data["type"] == kind


def test_words_of_all_languages_come_through() -> None:
    answered = posted(an_app(lambda press: Whisper(text="für 😀")), packed(a_press()))

    assert answered.data["data"]["content"] == "für 😀"


@pytest.mark.parametrize("kind", [2, 4, 6, 200])
def test_other_kinds_are_refused_clearly(app: InteractionsApp, kind: int) -> None:
    answered = posted(app, packed({**a_press(), "type": kind}))

    assert (answered.status, answered.data) == (
        400,
        {"error": f"only pings, components and modals are answered here, not type {kind}"},
    )


# ── who sends it ────────────────────────────────────────────────────────────────────────────


def test_who_has_not_the_key_is_refused_before_anything_is_read_of_it() -> None:
    def answer(press: Press) -> Reply:
        raise AssertionError("a forged press was answered")

    answered = posted(an_app(answer), packed(a_press()), signer=Signer())

    assert (answered.status, answered.data) == (401, {"error": "the signature does not hold"})


def test_a_forged_body_is_not_parsed(app: InteractionsApp) -> None:
    assert posted(app, b"no JSON", signer=Signer()).status == 401


@pytest.mark.parametrize("missing", ["X-Signature-Ed25519", "X-Signature-Timestamp"])
def test_what_is_not_signed_is_refused_unread(app: InteractionsApp, missing: str) -> None:
    body = packed(PING)
    headers = {**DISCORD.headers(body)}
    del headers[missing]

    answered = served(app, body, headers, {"wsgi.input": Untouched()})

    assert (answered.status, answered.data) == (401, {"error": "the request is not signed"})


def test_the_same_request_is_answered_once(app: InteractionsApp) -> None:
    body = packed(PING)

    assert [posted(app, body).status for _ in range(2)] == [200, 401]


def test_a_stale_request_is_refused(app: InteractionsApp) -> None:
    body = packed(PING)

    assert served(app, body, DISCORD.headers(body, at_s=NOW_S - 301)).status == 401


def test_a_signed_body_that_was_changed_on_the_way_is_refused(app: InteractionsApp) -> None:
    body = packed(PING)

    assert served(app, body[:-1] + b" }", DISCORD.headers(body)).status == 401


# ── how it is sent ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "post", ""])
def test_only_posts_are_served(app: InteractionsApp, method: str) -> None:
    body = packed(PING)

    answered = served(
        app, body, DISCORD.headers(body), {"REQUEST_METHOD": method, "wsgi.input": Untouched()}
    )

    assert (answered.status, answered.headers["Allow"]) == (405, "POST")


def test_a_body_that_says_it_is_too_long_is_refused_unread(app: InteractionsApp) -> None:
    said = {"CONTENT_LENGTH": str(MAX_BODY_BYTES + 1), "wsgi.input": Untouched()}

    assert served(app, b"", DISCORD.headers(b""), said).status == 413


def test_a_body_of_the_longest_length_is_served(app: InteractionsApp) -> None:
    body = packed(PING).ljust(MAX_BODY_BYTES)

    assert posted(app, body).status == 200


def test_a_body_without_a_length_is_refused_where_it_might_never_end(app: InteractionsApp) -> None:
    body = packed(PING)
    said = {"CONTENT_LENGTH": "", "wsgi.input": Untouched()}

    assert served(app, body, DISCORD.headers(body), said).status == 411


def test_a_body_without_a_length_is_served_where_it_ends(app: InteractionsApp) -> None:
    said = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}

    assert posted(app, packed(PING), said).status == 200


def test_a_body_without_a_length_is_read_no_further_than_it_may_be_long(
    app: InteractionsApp,
) -> None:
    body = io.BytesIO(b"x" * (MAX_BODY_BYTES * 3))
    said = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True, "wsgi.input": body}

    assert served(app, b"", DISCORD.headers(b""), said).status == 413
    assert body.tell() <= MAX_BODY_BYTES + 1


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", " 5", "5, 5", "٣", "9" * 30, "none"])
def test_a_length_that_is_none_is_refused(app: InteractionsApp, length: str) -> None:
    said = {"CONTENT_LENGTH": length, "wsgi.input": Untouched()}

    assert served(app, b"", DISCORD.headers(b""), said).status == 400


def test_a_truncated_body_is_refused(app: InteractionsApp) -> None:
    body = packed(PING)
    said = {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body[:-5])}

    answered = served(app, body, DISCORD.headers(body), said)

    assert (answered.status, answered.data["error"]) == (
        400,
        f"{len(body)} bytes were said, and {len(body) - 5} came",
    )


def test_a_body_that_comes_in_pieces_is_put_together(app: InteractionsApp) -> None:
    class Dribble(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(1 if size else 0)

    body = packed(PING)

    assert posted(app, body, {"wsgi.input": Dribble(body)}).status == 200


def test_a_sender_that_goes_away_is_no_trouble(app: InteractionsApp) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError("gone")

    assert posted(app, packed(PING), {"wsgi.input": Broken()}).status == 400


# ── what is in it ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"type":1}{"type":1}',
        b'{"type":NaN}',
        b'{"type":1,"x":"\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"\x00" * 10,
    ],
    ids=["nothing", "open", "no text", "two", "NaN", "half a pair", "deep", "deeper", "whole", "0"],
)
def test_what_is_no_json_is_refused(app: InteractionsApp, body: bytes) -> None:
    answered = posted(app, body)

    assert (answered.status, answered.data) == (400, {"error": "the body is no JSON"})


@pytest.mark.parametrize(
    "body",
    [b"[]", b"null", b"1", b'"x"', b"{}", b'{"type":1e400}', b'{"type":' + b"9" * 30 + b"}"],
)
def test_what_is_no_interaction_is_refused(app: InteractionsApp, body: bytes) -> None:
    assert posted(app, body).status == 400


def test_a_bug_is_no_traceback_and_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    def answer(press: Press) -> Reply:
        raise RuntimeError(f"broken with {PLANTED}")

    with caplog.at_level(logging.ERROR, "turnkeeper.interactions"):
        answered = posted(an_app(answer), packed(a_press()))

    assert (answered.status, answered.data) == (500, {"error": "something went wrong here"})
    assert "RuntimeError: broken with [redacted]" in caplog.text
    assert PLANTED not in caplog.text


# ── all kinds of things ─────────────────────────────────────────────────────────────────────

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)
PAYLOADS = st.dictionaries(st.sampled_from(list(a_press())), JSON).map(
    lambda fields: orjson.dumps({**a_press(), **fields})
)
BODIES = st.binary() | JSON.map(orjson.dumps) | PAYLOADS


@given(BODIES)
def test_whatever_discord_signs_it_has_a_valid_answer(body: bytes) -> None:
    assert posted(an_app(), body).status in (200, 400)


ENVIRONS = st.fixed_dictionaries(
    {},
    optional={
        "REQUEST_METHOD": st.sampled_from(["POST", "GET"]) | st.text(),
        "CONTENT_LENGTH": st.integers(0, 2000).map(str) | st.text(),
        "HTTP_X_SIGNATURE_ED25519": st.text(),
        "HTTP_X_SIGNATURE_TIMESTAMP": st.text(),
        "wsgi.input_terminated": st.booleans(),
    },
)


@given(BODIES, ENVIRONS, st.booleans())
def test_whatever_anybody_sends_it_has_a_valid_answer(
    body: bytes, environ: dict[str, Any], signed: bool
) -> None:
    signer = DISCORD if signed else Signer()

    answered = posted(an_app(), body, environ, signer=signer)

    assert answered.status in (
        (200, 400, 401, 405, 411, 413) if signed else (400, 401, 405, 411, 413)
    )
