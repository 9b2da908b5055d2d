"""The bytes of answers: Discord's own, and those of the edge before it."""

import math
from typing import assert_never

import orjson

from turnkeeper.infrastructure.discord_double.call import Reply
from turnkeeper.infrastructure.discord_double.fault import EdgeBlock, Form, RateLimited, ServerError
from turnkeeper.infrastructure.discord_double.problem import Problem
from turnkeeper.infrastructure.wall.answer import Pairs
from turnkeeper.infrastructure.wall.behaviour import Replay

VIA: Pairs = (("Via", "1.1 google"),)
JSON: Pairs = (("Content-Type", "application/json"),)
HTML: Pairs = (("Content-Type", "text/html"),)
TEXT: Pairs = (("Content-Type", "text/plain; charset=UTF-8"),)
EDGE: Pairs = (("Server", "cloudflare"),)

BANNED_TEXT = b"error code: 1015"
BANNED_JSON = {
    "message": "You are being blocked from accessing our API temporarily due to exceeding our"
    " rate limits frequently.",
    "code": 0,
}
PAGE = (
    "<html>\n<head><title>{title}</title></head>\n<body>\n<center><h1>{title}</h1></center>\n"
    "<hr><center>cloudflare</center>\n</body>\n</html>\n"
)
TITLES = {
    403: "Access denied | discord.com used Cloudflare to restrict access",
    429: "Too Many Requests",
    502: "502 Bad Gateway",
}


def told(reply: Reply, headers: Pairs) -> Replay:
    """What was asked for."""
    if reply.body is None:
        return _replay(reply.status, (*headers, *VIA), b"")
    return _replay(reply.status, (*JSON, *headers, *VIA), orjson.dumps(reply.body))


def refused(problem: Problem, headers: Pairs = ()) -> Replay:
    """A refusal of Discord's own."""
    return _replay(problem.status, (*JSON, *headers, *VIA), orjson.dumps(problem.body))


def rate_limited(limit: RateLimited, headers: Pairs) -> Replay:
    """A 429 of Discord's own; `headers` are those of the bucket."""
    retry_after_s = math.ceil(limit.retry_after_s * 1000) / 1000
    body: dict[str, object] = {
        "message": limit.message,
        "retry_after": retry_after_s,
        "global": limit.scope == "global",
    }
    if limit.code is not None:
        body["code"] = limit.code
    waits: Pairs = (
        ("Retry-After", str(math.ceil(retry_after_s))),
        ("X-RateLimit-Scope", limit.scope),
    )
    if limit.scope == "global":
        waits = (*waits, ("X-RateLimit-Global", "true"))
    return _replay(429, (*JSON, *headers, *waits, *VIA), orjson.dumps(body))


def failed(error: ServerError) -> Replay:
    """A 5xx; as a page it is the edge's, which could not reach Discord."""
    words = TITLES.get(error.status, f"{error.status}: Internal Server Error")
    body = orjson.dumps({"message": words, "code": 0})
    return _in_form(error.form, error.status, words, body, b"upstream error")


def blocked(block: EdgeBlock) -> Replay:
    """A block of the edge."""
    body = orjson.dumps(BANNED_JSON)
    return _in_form(block.form, block.status, TITLES[block.status], body, BANNED_TEXT)


def blocked_agent(problem: Problem) -> Replay:
    """The edge does not like who asks."""
    return _replay(problem.status, (*JSON, *EDGE), orjson.dumps(problem.body))


def _in_form(form: Form, status: int, title: str, json: bytes, text: bytes) -> Replay:
    match form:
        case "html":
            return _replay(status, (*HTML, *EDGE), PAGE.format(title=title).encode())
        case "text":
            return _replay(status, (*TEXT, *EDGE), text)
        case "json":
            return _replay(status, (*JSON, *EDGE), json)
        case _:
            assert_never(form)


def _replay(status: int, headers: Pairs, body: bytes) -> Replay:
    return Replay(status=status, headers=headers, body=body, framing="length")
