"""The faults that are set, and what they do to the world."""

import secrets
from typing import assert_never

from turnkeeper.domain.frozen import replace
from turnkeeper.infrastructure.discord_double.call import Call
from turnkeeper.infrastructure.discord_double.fault import (
    ChannelDeleted,
    Event,
    Fault,
    Mishap,
    Revoked,
    ThreadArchived,
    ThreadLocked,
    TokenRevoked,
    WebhookDeleted,
)
from turnkeeper.infrastructure.discord_double.places import Channel
from turnkeeper.infrastructure.discord_double.state import State


class Breakage:
    """Faults in the order in which they were set; used under the lock of the state."""

    def __init__(self) -> None:
        self._set: list[_Set] = []

    def put(self, fault: Fault, posts: int) -> None:
        """Set a fault; `posts` is how many messages were posted so far."""
        self._set.append(_Set(fault, posts))

    @property
    def unmet(self) -> tuple[Fault, ...]:
        """The faults that no call has met so far."""
        return tuple(one.fault for one in self._set if not one.was_met)

    def clear(self) -> None:
        """Forget all faults; what they have done to the world stays."""
        self._set.clear()

    def met(self, state: State, call: Call) -> Mishap | None:
        """Let all events happen that are due, and return the first mishap that is."""
        due = [one.fault.what for one in self._set if one.meets(state, call)]
        mishaps = [what for what in due if isinstance(what, Mishap)]
        for what in due:
            if not isinstance(what, Mishap):
                happen(state, call, what)
        return mishaps[0] if mishaps else None


class _Set:
    def __init__(self, fault: Fault, posts: int) -> None:
        self.fault = fault
        self._from_posts = posts + fault.when.after_posts
        self._number = 0
        self.was_met = False

    def meets(self, state: State, call: Call) -> bool:
        when = self.fault.when
        is_armed = state.posts >= self._from_posts
        # An event needs somewhere to happen; calls beside any channel do not use it up.
        has_place = isinstance(self.fault.what, Mishap) or place_of(state, call) is not None
        if not (is_armed and has_place and when.fits(call.route, call.method)):
            return False
        self._number += 1
        is_met = when.meets(self._number)
        self.was_met = self.was_met or is_met
        return is_met


def place_of(state: State, call: Call) -> Channel | None:
    """The channel or thread that a call is about; None if it is about none."""
    webhook = state.webhooks.get(call.params.get("webhook_id", ""))
    channel_id = call.params.get("channel_id") or call.query.get("thread_id")
    return state.channels.get(channel_id or (webhook.channel_id if webhook else ""))


def happen(state: State, call: Call, event: Event) -> None:
    """Change the world around the place of a call."""
    place = place_of(state, call)
    assert place is not None
    match event:
        case WebhookDeleted():
            _delete_webhooks(state, call, place)
        case ChannelDeleted():
            state.remove_channel(place.id)
        case Revoked(permissions=permissions):
            owner = state.channels[place.parent_id or place.id]
            state.channels[owner.id] = replace(owner, permissions=owner.permissions - permissions)
        case ThreadArchived():
            state.channels[place.id] = replace(place, archived=place.is_thread)
        case ThreadLocked():
            is_thread = place.is_thread
            state.channels[place.id] = replace(place, archived=is_thread, locked=is_thread)
        case TokenRevoked():
            state.token = secrets.token_urlsafe(24)
        case _:
            assert_never(event)


def _delete_webhooks(state: State, call: Call, place: Channel) -> None:
    home = place.parent_id or place.id
    used = call.params.get("webhook_id")
    for webhook in tuple(state.webhooks.values()):
        if webhook.id == used or (used is None and webhook.channel_id == home):
            del state.webhooks[webhook.id]
