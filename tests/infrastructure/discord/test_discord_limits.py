"""Lanes: calls that share a bucket keep their order, also when they find out that they do."""

from fakes import FrozenClock

from turnkeeper.domain.deadline import NEVER
from turnkeeper.infrastructure.discord.call import Call
from turnkeeper.infrastructure.discord.patience import Patience
from turnkeeper.infrastructure.discord.rate_limits import RateLimits
from turnkeeper.infrastructure.discord.reply import Reply


def a_call(template: str, major: str = "7") -> Call:
    return Call(verb="GET", template=template, path=template, major=major)


def a_reply(**headers: str) -> Reply:
    named = {f"x-ratelimit-{name.replace('_', '-')}": value for name, value in headers.items()}
    return Reply.read(200, named, b"{}")


def test_who_waits_for_a_route_waits_on_when_its_bucket_is_learnt() -> None:
    clock = FrozenClock()
    limits, patience = RateLimits(clock), Patience(clock, deadline=NEVER, stop=None)
    call = a_call("/one")

    with limits.turn(call, patience) as first:
        second = limits._join(call)
        limits.learn(first, call, a_reply(bucket="b"))
        third = limits._join(call)
        assert not second.turn.is_set()
        assert second.lane is third.lane

    assert (second.turn.is_set(), third.turn.is_set()) == (True, False)
    second.lane.leave(second)
    assert third.turn.is_set()


def test_who_waits_joins_the_lane_of_a_bucket_that_is_known_already() -> None:
    clock = FrozenClock()
    limits, patience = RateLimits(clock), Patience(clock, deadline=NEVER, stop=None)
    one, other = a_call("/one"), a_call("/other")
    with limits.turn(other, patience) as ticket:
        limits.learn(ticket, other, a_reply(bucket="b"))

    with limits.turn(other, patience) as busy, limits.turn(one, patience) as first:
        second, third = limits._join(one), limits._join(one)
        limits.learn(first, one, a_reply(bucket="b", remaining="0", reset_after="3"))

        assert second.lane is third.lane is busy.lane
        assert [ticket is second for ticket in busy.lane.tickets] == [False, True, False]
        assert busy.lane.free_at_s() == clock.monotonic() + 3


def test_lanes_that_nobody_needs_are_forgotten() -> None:
    clock = FrozenClock()
    limits, patience = RateLimits(clock), Patience(clock, deadline=NEVER, stop=None)

    for number in range(5000):
        with limits.turn(a_call("/one", str(number)), patience):
            pass

    assert len(limits._lanes) <= 4096
