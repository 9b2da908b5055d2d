"""What a version decides otherwise than another is found in the journals that the other wrote."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from builders import USER, a_request
from fakes import Script, ScriptedProvider, fails, says
from mutants import MUTANTS, ROOT, Mutant
from streets import QUESTION
from turns import Bench, Benches, a_server, a_user

from turnkeeper.application.run_generation_turn import TurnRules
from turnkeeper.domain.events import Entry, TurnStarted
from turnkeeper.domain.failure import FailureKind
from turnkeeper.domain.occasion import Audience
from turnkeeper.domain.policy import ContentFilterPolicy, TurnPolicy
from turnkeeper.domain.replay import Replay, replayed
from turnkeeper.domain.stream import FinishReason
from turnkeeper.infrastructure.journal_file import lines_of
from turnkeeper.interfaces.replay_words import difference_line

HELLO = says("Hello.")
LONG = "A paragraph that is long enough to be posted. " * 30 + "\n\n"
LAYERS = ("domain", "application", "infrastructure", "interfaces", "src")
FILTERED = fails(FailureKind.CONTENT_FILTER, message="no")
EMPTY = says(finish=FinishReason.STOP)
TOO_LONG = fails(FailureKind.CONTEXT_TOO_LONG)


def a_journal(
    bench: Benches, *alpha: Script, audience: Audience = Audience.PERSON, **more: object
) -> tuple[Entry, ...]:
    """What a turn wrote whose first model answered so, and whose second says hello."""
    turn: Bench = bench(ScriptedProvider(alpha=list(alpha), beta=HELLO), **more)
    request = a_request(user_id=USER.id, trigger_id="t", audience=audience)
    turn.run(replace(request, conversation=QUESTION))
    return turn.recorder.entries


def told(again: Replay) -> list[str]:
    return [difference_line(one, again) for one in again.differences]


def with_policy(entries: tuple[Entry, ...], **changes: object) -> tuple[Entry, ...]:
    """The journal, as if the turn had been run under another policy."""

    def changed(entry: Entry) -> Entry:
        event = entry.event
        if not isinstance(event, TurnStarted) or event.policy is None:
            return entry
        policy = replace(event.policy, **changes)  # type: ignore[arg-type]
        return replace(entry, event=replace(event, policy=policy))

    return tuple(map(changed, entries))


# ── the same rules ──────────────────────────────────────────────────────────────────────────


def test_every_step_booking_rest_and_end_of_a_rescued_turn_is_compared(bench: Benches) -> None:
    journal = a_journal(bench, fails(FailureKind.OVERLOADED))

    again = replayed(journal)

    # prepare, lease, run, book and rest for alpha; prepare, lease, run and book for beta; the end
    assert (again.decisions, again.differences, again.remarks) == (10, (), ())


# ── another policy ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("script", "changes", "expected"),
    [
        (
            FILTERED,
            {"content_filter": ContentFilterPolicy.STOP},
            [
                "entry 6: recorded: prepare beta; this version: end the turn (status error, told"
                " person)"
            ],
        ),
        (
            EMPTY,
            {"empty_fails_over": False},
            [
                "entry 6: recorded: prepare beta; this version: wait with alpha"
                " (why nothing came; the turn is run again, until 1.00 s)"
            ],
        ),
        (
            TOO_LONG,
            {"shrink_to": 0.5},
            [
                "entry 6: recorded: ask alpha (tokens 789); this version: ask alpha (tokens 564)",
            ],
        ),
    ],
    ids=["content filter", "empty", "shrink"],
)
def test_a_planted_change_of_the_policy_is_found_and_named(
    bench: Benches, script: Script, changes: dict[str, object], expected: list[str]
) -> None:
    journal = a_journal(bench, script, HELLO)

    assert told(replayed(journal)) == []
    assert told(replayed(with_policy(journal, **changes))) == expected


def test_each_decision_that_differs_is_told_not_only_the_first(bench: Benches) -> None:
    journal = a_journal(
        bench,
        fails(FailureKind.SERVER_ERROR),
        fails(FailureKind.AUTH),
        HELLO,
        server_keys=3,
    )

    assert told(replayed(with_policy(journal, max_keys=1))) == [
        "entry 6: recorded: lend a key for alpha (without 1); this version: prepare beta",
        "entry 10: recorded: lend a key for alpha (without 1 2); this version: prepare beta",
    ]


# ── other rules ─────────────────────────────────────────────────────────────────────────────

FOUND = {
    "nothing is taken back": "recorded: ask beta (takes back m1); this version: ask beta (takes"
    " back none)",
    "four keys are tried": "recorded: prepare beta; this version: lend a key for alpha",
    "a prompt that is too long is sent again as it was": "recorded: ask alpha",
    "the server route is asked after an empty answer": "this version: ask for the server's models",
    "the last key is not booked": "this version: book on the key of alpha (booking nothing)",
    "a hidden turn says its failure": "end the turn (told nobody); this version: end the turn (told"
    " person)",
}
"""What a replay by faulty rules says, by the name of the fault."""


@pytest.fixture
def exported(bench: Benches, tmp_path: Path) -> Path:
    """Journals of some turns, as these rules run them."""
    once = TurnRules(policy=TurnPolicy(empty_retries=0))
    refused = [fails(FailureKind.AUTH)] * 5
    alone = a_server("alpha")
    journals = (
        a_journal(bench, fails(FailureKind.OVERLOADED, LONG)),
        a_journal(bench, *refused, server_keys=5),
        a_journal(bench, TOO_LONG, HELLO),
        a_journal(bench, EMPTY, user=a_user("alpha"), rules=once),
        a_journal(bench, FILTERED, server=alone, audience=Audience.NOBODY),
    )
    file = tmp_path / "journals.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines_of(journals)))
    return file


def replayed_by_a_copy(file: Path, folder: Path, mutant: Mutant | None) -> tuple[int, str]:
    """How `turnkeeper replay` ends, and what it says, where the rules have this fault."""
    for layer in LAYERS:
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / layer, folder / layer, symlinks=True, ignore=leave)
    if mutant is not None:
        path = folder / mutant.file
        path.write_text(path.read_text().replace(mutant.before, mutant.after))
    command = [sys.executable, "-c", "from turnkeeper.interfaces.cli import main; main()",
               "replay", str(file)]  # fmt: skip
    environ = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_the_same_rules_decide_the_same(exported: Path, tmp_path: Path) -> None:
    code, said = replayed_by_a_copy(exported, tmp_path / "copy", None)

    assert (code, said.count("same decisions"), len(said.splitlines())) == (0, 5, 5)


@pytest.mark.parametrize("name", FOUND)
def test_a_planted_change_of_the_rules_is_found_and_named(
    exported: Path, tmp_path: Path, name: str
) -> None:
    (mutant,) = (one for one in MUTANTS if one.name == name)

    code, said = replayed_by_a_copy(exported, tmp_path / "copy", mutant)

    assert (code, FOUND[name] in said) == (1, True), said
