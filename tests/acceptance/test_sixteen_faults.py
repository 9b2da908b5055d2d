"""The sixteen faults, each as a whole turn through the facade, in every dialect."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from streets import FALLBACK, SAID, SPARE, House, Street

from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.outcome import StreamResult
from turnkeeper.domain.policy import ContentFilterPolicy
from turnkeeper.infrastructure.wall.behaviour import Behaviour
from turnkeeper.infrastructure.wall.fault import (
    FROM_PRIMARY,
    PATIENT,
    Fault,
    Outage,
    Verdict,
)
from turnkeeper.infrastructure.wall.faults import FAULTS
from turnkeeper.infrastructure.wall.seen import Seen


def fault_of(fault_id: str) -> Fault:
    (found,) = (fault for fault in FAULTS if fault.id == fault_id)
    assert isinstance(found, Fault)
    return found


def said_in(seen: Seen) -> Mapping[str, Any]:
    return {name: seen.body[name] for name in SAID if name in seen.body}


def test_there_are_sixteen() -> None:
    assert [fault.id for fault in FAULTS] == [f"S{number:02}" for number in range(1, 17)]


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if isinstance(fault, Fault)],
    ids=lambda fault: f"{fault.id} {fault.name}",
)
def test_a_fault_ends_the_same_in_every_dialect(fault: Fault, street: Street) -> None:
    family = street.way.family
    if (reason := dict(fault.not_in).get(family)) is not None:
        pytest.skip(f"{family} cannot show {fault.id}: {reason}")
    house = House(street, fault.limits)
    house.keeper.configure.set_content_filter(house.server.id, fault.content_filter)
    house.script(fault.met_by_primary(family), fault.fallback)

    result = house.run()

    assert house.verdict(result) == fault.verdict
    first, *more = asked = house.calls(house.primary)
    assert all(b.at_s - a.at_s >= fault.wait_s for a, b in pairwise(asked))
    assert fault.verdict.shrinks or all(seen.raw == first.raw for seen in more)
    assert all(said_in(seen) == said_in(first) for seen in house.calls(FALLBACK))


def test_s11_an_answer_with_its_reason_is_whole_where_the_end_marker_is_missing(
    street: Street,
) -> None:
    house = House(street, PATIENT)
    house.script((replace(FROM_PRIMARY, done=False),))

    assert house.verdict(house.run()) == Verdict(answered_by="primary")


def test_s12_an_answer_comes_once_the_prompt_is_small_enough(street: Street) -> None:
    fault = fault_of("S12")
    house = House(street, fault.limits)
    house.script((*fault.met_by_primary(street.way.family), FROM_PRIMARY))

    result = house.run()

    assert house.verdict(result) == Verdict(
        answered_by="primary",
        primary_calls=2,
        failures=(FailureKind.CONTEXT_TOO_LONG,),
        shrinks=True,
    )


def test_s12_a_prompt_that_cannot_be_made_smaller_is_not_sent_again(street: Street) -> None:
    fault = fault_of("S12")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family))

    result = house.run(Conversation.of("One long prompt. " * 200))

    assert house.verdict(result) == Verdict(
        answered_by="fallback", fallback_calls=1, failures=(FailureKind.CONTEXT_TOO_LONG,)
    )


def test_s13_the_reason_is_passed_on(street: Street) -> None:
    fault = fault_of("S13")
    house = House(street, fault.limits)
    house.keeper.configure.set_content_filter(house.server.id, ContentFilterPolicy.STOP)
    house.script(fault.met_by_primary(street.way.family))

    house.run()

    (told,) = house.sink.errors
    assert isinstance(told, StreamResult)
    assert told.failure is not None
    assert told.failure.kind is FailureKind.CONTENT_FILTER
    (said,) = house.sink.channel.said("error")
    assert "declined to answer this" in said


def test_s13_by_default_another_model_is_asked(street: Street) -> None:
    fault = fault_of("S13")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family))

    result = house.run()

    assert house.verdict(result) == Verdict(
        answered_by="fallback", fallback_calls=1, failures=(FailureKind.CONTENT_FILTER,)
    )


def test_s15_turns_go_on_during_an_outage_and_come_back_after_it(street: Street) -> None:
    (outage,) = (fault for fault in FAULTS if isinstance(fault, Outage))
    house = House(street, PATIENT)
    clock = street.clock
    over_at_s = clock.monotonic() + outage.for_s

    def primary(seen: Seen) -> Behaviour:
        return outage.down if clock.monotonic() < over_at_s else FROM_PRIMARY

    house.script((primary,))

    meanwhile, afterwards = [], []
    while clock.monotonic() < over_at_s:
        meanwhile.append(house.answerer())
        clock.advance(outage.every_s)
    calls_in_vain = len(house.calls(house.primary))
    while clock.monotonic() < over_at_s + outage.back_within_s:
        afterwards.append(house.answerer())
        clock.advance(outage.every_s)

    assert len(meanwhile) > 15
    assert set(meanwhile) == {"fallback"}
    assert 1 <= calls_in_vain <= outage.most_calls
    assert set(afterwards[:-1]) <= {"fallback", "primary"}
    assert afterwards[-1] == "primary"


def test_s16_the_result_is_the_fallbacks(street: Street) -> None:
    fault = fault_of("S16")
    house = House(street, fault.limits)
    house.script(fault.met_by_primary(street.way.family), fault.fallback)

    result = house.run()

    assert result.success_model is not None
    assert (result.success_model.name, result.success_model.provider) == (
        FALLBACK,
        SPARE if street.way.name != "custom" else "custom:2",
    )
    assert result.usage is not None
    used = result.usage
    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (70, 7, 77)
