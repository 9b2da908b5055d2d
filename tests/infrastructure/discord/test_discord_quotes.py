"""What Discord repeats of a call is not told to others."""

import json

from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.reply import Reply, Sent

CALL = Call(
    verb="POST",
    template="/webhooks/{webhook}/{token}",
    path="/webhooks/1/a%2Fplain.token?wait=true",
    body={"content": "what a model said to somebody", "embeds": [{"title": "in a card"}]},
)


def test_a_call_knows_its_token_and_what_people_are_to_read() -> None:
    assert CALL.token == "a/plain.token"
    assert CALL.texts == ("what a model said to somebody", "in a card")
    assert Call(verb="GET", template="/channels/{channel}", path="/channels/1").token is None


def test_an_error_repeats_neither_the_tokens_nor_what_was_sent() -> None:
    quoted = "a/plain.token bot.token what a model said to somebody"
    body = {
        "message": f"no: {quoted}",
        "code": quoted,
        "errors": {"content": {"_errors": [{"code": quoted}]}},
    }
    sent = Sent(secrets=("bot.token", "a/plain.token"), texts=CALL.texts)

    reply = Reply.read(400, {}, json.dumps(body).encode(), sent)

    masked = "[redacted] [redacted] [redacted]"
    assert reply.message == f"no: {masked}"
    assert (reply.code, reply.fields) == (masked, (("content", masked),))
    assert "token" not in repr(sent)
