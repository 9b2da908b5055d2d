"""The faults that whoever speaks to Discord has to survive, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from turnkeeper.infrastructure.discord_double.fault import (
    ChannelDeleted,
    EdgeBlock,
    Event,
    Fault,
    LostResponse,
    Mishap,
    RateLimited,
    Refusal,
    Revoked,
    ServerError,
    SlowAnswer,
    ThreadArchived,
    ThreadLocked,
    TokenRevoked,
    WebhookDeleted,
    When,
)
from turnkeeper.infrastructure.discord_double.problem import MISSING_PERMISSIONS

POSTS = ("create_message", "execute_webhook")
DELETES = ("delete_message", "delete_messages", "delete_webhook_message")
MID_STREAM = 2  # so many messages stand in the channel when it happens
CHANNEL_LIMIT = "The write action you are performing on the channel has hit the write rate limit."


def _post(what: Mishap) -> Fault:
    return Fault(what=what, when=When(routes=POSTS))


def _every_post(what: Mishap) -> Fault:
    return Fault(what=what, when=When(routes=POSTS, times=None))


def _mid_stream(what: Mishap | Event) -> Fault:
    return Fault(what=what, when=When(after_posts=MID_STREAM))


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "a post is rate limited": _post(RateLimited()),
        "a post meets the global limit": _post(RateLimited(scope="global", remaining=None)),
        "a post meets a shared limit": _post(
            RateLimited(scope="shared", remaining=4, message="The resource is being rate limited.")
        ),
        "a post meets the channel's write limit": _post(
            RateLimited(
                retry_after_s=0.3,
                scope="shared",
                remaining=None,
                code=20028,
                message=CHANNEL_LIMIT,
            )
        ),
        "a post meets the hidden webhook limit": _post(
            RateLimited(retry_after_s=41.206, remaining=3)
        ),
        "a delete is rate limited": Fault(what=RateLimited(), when=When(routes=DELETES)),
        "a post fails and was not done": _post(ServerError()),
        "a post fails and was done": _post(ServerError(takes_effect=True)),
        "a post meets a bad gateway": _post(ServerError(status=502, form="html")),
        "a post meets a bad gateway and was done": _post(
            ServerError(status=502, form="html", takes_effect=True)
        ),
        "all posts fail": _every_post(ServerError(status=503)),
        "the answer to a post is lost": _post(LostResponse()),
        "a post is lost": _post(LostResponse(takes_effect=False)),
        "the answer to a post is slow": _post(SlowAnswer()),
        "the edge blocks with a page": _every_post(EdgeBlock()),
        "the edge blocks with a line": _every_post(EdgeBlock(form="text")),
        "the edge blocks with JSON": _every_post(EdgeBlock(form="json")),
        "the edge forbids": _every_post(EdgeBlock(status=403)),
        "the webhook is deleted mid-stream": _mid_stream(WebhookDeleted()),
        "the channel is deleted mid-stream": _mid_stream(ChannelDeleted()),
        "the channel is hidden mid-stream": _mid_stream(
            Revoked(permissions=frozenset(("VIEW_CHANNEL",)))
        ),
        "sending is forbidden mid-stream": _mid_stream(
            Revoked(permissions=frozenset(("SEND_MESSAGES", "SEND_MESSAGES_IN_THREADS")))
        ),
        "managing messages is forbidden": Fault(
            what=Revoked(permissions=frozenset(("MANAGE_MESSAGES",)))
        ),
        "the thread is archived mid-stream": _mid_stream(ThreadArchived()),
        "the thread is locked mid-stream": _mid_stream(ThreadLocked()),
        "the token is revoked mid-stream": _mid_stream(TokenRevoked()),
        "deletes are refused": Fault(
            what=Refusal(problem=MISSING_PERMISSIONS), when=When(routes=DELETES, times=None)
        ),
        "a delete fails": Fault(what=ServerError(), when=When(routes=DELETES)),
        "the answer to a delete is lost": Fault(what=LostResponse(), when=When(routes=DELETES)),
    }
)
