"""How replies are read, those of the recordings first."""

import json
from pathlib import Path
from typing import Any

import pytest
from requests.structures import CaseInsensitiveDict

from turnkeeper.infrastructure.discord.reply import Reply
from turnkeeper.infrastructure.discord.snowflake import just_before, made_at

pytestmark = pytest.mark.recording
LIMITED = (
    "di-22-429-user",
    "di-23-429-shared",
    "di-24-429-global",
    "rc-47-di-429-20028",
    "rc-54-di-429-webhook-40s",
)


def recorded(recordings: Path, name: str) -> tuple[Reply, dict[str, Any]]:
    folder = recordings / name
    meta = json.loads((folder / "meta.json").read_text())
    expected = json.loads((folder / "expected.json").read_text())
    reply = Reply.read(
        meta["http"]["status"],
        CaseInsensitiveDict(meta["http"].get("headers", {})),
        (folder / meta["response_file"]).read_bytes(),
    )
    return reply, expected


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_is_read_as_it_is_meant(recordings: Path, name: str) -> None:
    reply, expected = recorded(recordings, name)

    assert reply.is_limited
    assert not reply.is_from_edge
    assert reply.retry_after_s == expected["wait_s"]
    assert reply.is_global == expected["global"]
    assert reply.is_invalid == expected["counts_as_invalid_request"]


@pytest.mark.parametrize("name", ["rc-48-di-429-cloudflare-text", "rc-49-di-429-cloudflare-json"])
def test_a_block_at_the_edge_is_no_limit(recordings: Path, name: str) -> None:
    reply, _ = recorded(recordings, name)

    assert reply.is_from_edge
    assert not reply.is_limited


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("rc-40-di-404-10008", "10008"),
        ("rc-41-di-404-10003", "10003"),
        ("rc-42-di-404-10015", "10015"),
        ("rc-43-di-401-50027", "50027"),
        ("rc-44-di-403-50013", "50013"),
        ("rc-46-di-400-50083", "50083"),
    ],
)
def test_a_refusal_has_discords_code(recordings: Path, name: str, code: str) -> None:
    reply, expected = recorded(recordings, name)

    assert (reply.code, reply.is_invalid) == (code, expected["counts_as_invalid_request"])


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("di-07-error-50035-nested", ("activities.0.platform", "activities.0.type")),
        ("di-08-error-50035-object", ("access_token",)),
        ("di-09-error-50035-request", ("request",)),
        ("rc-50-di-400-50035-content", ("content",)),
    ],
)
def test_the_fields_of_a_complaint_are_named(
    recordings: Path, name: str, fields: tuple[str, ...]
) -> None:
    reply, _ = recorded_body(recordings, name)

    assert tuple(field for field, _ in reply.fields) == fields


def recorded_body(recordings: Path, name: str) -> tuple[Reply, None]:
    folder = recordings / name
    meta = json.loads((folder / "meta.json").read_text())
    return Reply.read(400, {}, (folder / meta["response_file"]).read_bytes()), None


def test_a_page_of_a_gateway_is_no_json(recordings: Path) -> None:
    reply, _ = recorded(recordings, "rc-53-di-502-html")

    assert (reply.status, reply.is_json, reply.code, reply.message) == (502, False, "0", "")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"7", b"{", b'"text"', b'{"code": true}', b'{"retry_after": "x"}', b"[" * 9999],
)
def test_no_body_breaks_the_reading(body: bytes) -> None:
    reply = Reply.read(429, {}, body)

    assert (reply.code, reply.message, reply.fields, reply.is_from_edge) == ("0", "", (), True)


def test_the_header_is_believed_where_the_reply_came_from_discord() -> None:
    headers = CaseInsensitiveDict({"Retry-After": "7"})
    assert Reply.read(429, headers, b"{}").retry_after_s is None

    headers["Via"] = "1.1 google"
    assert Reply.read(429, headers, b"{}").retry_after_s == 7.0


def test_an_id_tells_when_it_was_made() -> None:
    assert made_at("175928847299117063").isoformat() == "2016-04-30T11:18:25.796000+00:00"


def test_ids_made_from_an_instant_on_come_after_its_bound() -> None:
    snowflake = "175928847299117063"
    bound = int(just_before(made_at(snowflake)))

    assert int(snowflake) >> 22 == (bound + 1) >> 22
    assert bound < int(snowflake)
