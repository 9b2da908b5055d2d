"""How rows are said: in a few words for people, as JSON for programs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnkeeper.infrastructure.wall.fault import STORY
from turnkeeper.interfaces.crashtest.observed import Caller, Channel, Observed, Provider
from turnkeeper.interfaces.crashtest.row import Row
from turnkeeper.interfaces.crashtest.score import Grade
from turnkeeper.interfaces.crashtest.street import TEXTS


def row_to_json(row: Row) -> Mapping[str, Any]:
    """One object: the fault, the dialect, the verdict, why, and what the three saw."""
    return {
        "fault": row.fault,
        "dialect": row.dialect,
        "verdict": row.score.grade.value,
        "by_choice": row.score.by_choice,
        "name": row.name,
        "why": list(row.score.why),
        **_seen_to_json(row.seen),
    }


def summary_to_json(rows: Sequence[Row], **about: object) -> Mapping[str, Any]:
    """The last object: how many of which verdict, and whether all of it counts as passed.

    Args:
        about: What the crash test was run with.
    """
    return {
        "summary": counts_of(rows),
        "by_choice": sum(row.score.by_choice for row in rows),
        "passed": is_passed(rows),
        **about,
    }


def counts_of(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows have which verdict, all verdicts named."""
    counted = Counter(row.score.grade for row in rows)
    return {grade.value: counted[grade] for grade in Grade}


def is_passed(rows: Iterable[Row]) -> bool:
    """Whether all rows count as passed."""
    return all(row.score.counts_as_passed for row in rows)


def in_words(row: Row) -> tuple[str, str, str, str]:
    """What the caller, the provider and the channel saw, and why the verdict is what it is."""
    why = "; ".join(row.score.why)
    if row.seen is None:
        return "", "", "", why
    seen = row.seen
    return _of_caller(seen.caller), _of_provider(seen.provider), _of_channel(seen.channel), why


def verdict_of(row: Row) -> str:
    """The verdict in a word or three."""
    return f"{row.score.grade.value}{' by choice' if row.score.by_choice else ''}"


def _of_caller(caller: Caller) -> str:
    if caller.raised is not None:
        return f"{caller.raised.partition(':')[0]} after {caller.took_s:.1f} s"
    status = caller.status.value if caller.status else "no end"
    by = f" by {caller.answered_by}" if caller.answered_by else ""
    return f"{status}{by} in {caller.took_s:.1f} s"


def _of_provider(provider: Provider) -> str:
    return f"primary {len(provider.primary)}x, fallback {provider.fallback_calls}x"


def _of_channel(channel: Channel) -> str:
    answers, parts = _answers_and_parts(channel)
    counted = (
        (answers, "answer"),
        (parts, "part"),
        (channel.notices, "notice"),
        (channel.errors, "error"),
    )
    words = [f"{n} {noun}{'s' if n > 1 else ''}" for n, noun in counted if n]
    words += [f"{channel.taken_back} taken back"] if channel.taken_back else []
    words += [f"{channel.stuck} stuck"] if channel.stuck else []
    return ", ".join(words) or "nothing"


def _seen_to_json(seen: Observed | None) -> Mapping[str, Any]:
    if seen is None:
        return {"caller": None, "provider": None, "channel": None}
    caller, provider, channel = seen.caller, seen.provider, seen.channel
    answers, parts = _answers_and_parts(channel)
    return {
        "caller": {
            "status": caller.status.value if caller.status else None,
            "answered_by": caller.answered_by,
            "took_s": round(caller.took_s, 2),
            "failures": [kind.value for kind in caller.failures],
            "raised": caller.raised,
        },
        "provider": {
            "primary_calls": len(provider.primary),
            "gaps_s": [round(gap, 2) for gap in provider.gaps_s],
            "sizes_bytes": [call.size_bytes for call in provider.primary],
            "fallback_calls": provider.fallback_calls,
        },
        "channel": {
            "answers": answers,
            "truncated": parts,
            "notices": channel.notices,
            "errors": channel.errors,
            "taken_back": channel.taken_back,
            "stuck": channel.stuck,
        },
    }


def _answers_and_parts(channel: Channel) -> tuple[int, int]:
    """How many whole answers stand there, and how many messages that are a part of one."""
    if " ".join(channel.said).split() == STORY.whole_text.split():
        return 1, 0  # the long answer, in as many messages as it takes
    answers = sum(text in TEXTS.values() for text in channel.said)
    return answers, len(channel.said) - answers
