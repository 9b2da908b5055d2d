"""Plants one fault at a time in a copy of the rules, and says whether the tests find it.

python tests/mutants.py            all of them
python tests/mutants.py NAME …     these
"""

import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("domain", "application", "infrastructure", "interfaces")
HELPERS = (
    "builders.py",
    "fakes.py",
    "forgetful_vault.py",
    "streets.py",
    "turns.py",
    "acceptance/conftest.py",
    "contracts/key_bookings.py",
    "contracts/key_crowds.py",
    "contracts/key_rests.py",
    "contracts/key_ring.py",
    "contracts/key_vault.py",
    "contracts/keys.py",
)
TESTS = (
    "domain/test_steps.py",
    "infrastructure/test_memory_key_ring.py",
    "acceptance/test_fallback_scenarios.py",
    "acceptance/test_worked_traces.py",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault.

    Attributes:
        name: What goes wrong with it.
        file: Where.
        before: The code that is right; there once.
        after: What is put in its place.
    """

    name: str
    file: str
    before: str
    after: str


STEPS, RETRY, FINISH = "domain/steps.py", "domain/retry.py", "domain/finish.py"
ROTATION, ADMISSION = "domain/rotation.py", "domain/admission.py"

MUTANTS = (
    Mutant(
        name="nothing is taken back",
        file=STEPS,
        before="last.superseded if last else ()",
        after="last.superseded[:0] if last else ()",
    ),
    Mutant(
        name="what tools posted is taken back too",
        file="domain/outcome.py",
        before="if delivery.can_be_superseded",
        after="if delivery",
    ),
    Mutant(
        name="the server route is asked again and again",
        file=STEPS,
        before="                    may_open=False,\n                    reservation",
        after="                    reservation",
    ),
    Mutant(
        name="the server route is asked after an empty answer",
        file=STEPS,
        before="return self.policy.empty_opens_server_route",
        after="return True",
    ),
    Mutant(
        name="resting models are dropped",
        file=STEPS,
        before="return awake + tuple(number for number in numbers if number in resting)",
        after="return awake",
    ),
    Mutant(
        name="a signal does not end the turn",
        file=STEPS,
        before="return self._with(signal=signal)._at(_OVER)",
        after="return self._with(signal=signal)",
    ),
    Mutant(
        name="the last key is not booked",
        file=STEPS,
        before="            case Failed(failure=failure):\n                return booking_of(",
        after="            case Failed() if isinstance(self.at, Choosing):\n"
        "                return None\n"
        "            case Failed(failure=failure):\n                return booking_of(",
    ),
    Mutant(
        name="a time-out is booked as an error of the key",
        file=STEPS,
        before="case Crashed() | Stopped() | Interrupted() | Unreachable() | TimedOut():\n"
        "                return BookNeutral()",
        after="case TimedOut(failure=failure):\n"
        "                return booking_of(failure, model='', cools=True)\n"
        "            case Crashed() | Stopped() | Interrupted() | Unreachable():\n"
        "                return BookNeutral()",
    ),
    Mutant(
        name="four keys are tried",
        file=RETRY,
        before=">= policy.max_keys",
        after="> policy.max_keys",
    ),
    Mutant(
        name="seven invocations are made",
        file=RETRY,
        before="return policy.max_invocations - len(",
        after="return policy.max_invocations + 1 - len(",
    ),
    Mutant(
        name="a request is repeated though its text is on screen",
        file=RETRY,
        before="        and not last.ran.superseded\n",
        after="",
    ),
    Mutant(
        name="a prompt that is too long is sent again as it was",
        file=RETRY,
        before="to_tokens = int(size * policy.shrink_to)\n    limit",
        after="to_tokens = size\n    limit",
    ),
    Mutant(
        name="a failure that no model can help goes on to the next",
        file=RETRY,
        before="return REACTIONS[failure.kind].next_model",
        after="return True",
    ),
    Mutant(
        name="a personal answer is charged to the server",
        file=FINISH,
        before="        and course.plan.attempts[last.ran.attempt_no].route is Route.SERVER\n",
        after="",
    ),
    Mutant(
        name="a unit is used without a persona response",
        file=FINISH,
        before="        and last.ran.reply_text\n",
        after="",
    ),
    Mutant(
        name="the opt-out is offered for personal fallbacks",
        file=FINISH,
        before="course.plan.route is Route.PERSONAL and winner.route is Route.SERVER",
        after="course.plan.route is Route.PERSONAL",
    ),
    Mutant(
        name="the notice is given though a stop is waiting",
        file=FINISH,
        before=" or course.signal is not None\n    if not before",
        after="\n    if not before",
    ),
    Mutant(
        name="a hidden turn says its failure",
        file=FINISH,
        before="case Audience.NOBODY:\n            return Say.NOBODY",
        after="case Audience.NOBODY:\n            return Say.PERSON",
    ),
    Mutant(
        name="an unreachable destination is an error",
        file=FINISH,
        before="case Unreachable():\n            return TurnStatus.SKIPPED",
        after="case Unreachable():\n            return TurnStatus.ERROR",
    ),
    Mutant(
        name="a key that was tried is lent again",
        file=ROTATION,
        before="        if key.id not in without\n        and (key.enabled",
        after="        if (key.enabled",
    ),
    Mutant(
        name="a key that is busy is lent first",
        file=ROTATION,
        before="health.load(now), health.usage_count",
        after="-health.load(now), -health.usage_count",
    ),
    Mutant(
        name="a failure does not rest the key",
        file=ROTATION,
        before='"rests_until": later',
        after='"rests_until": health.rests_until',
    ),
    Mutant(
        name="a persona job is asked for the cooldown again",
        file=ADMISSION,
        before="occasion.is_stop_response or occasion.is_persona_job or",
        after="occasion.is_stop_response or",
    ),
    Mutant(
        name="the quota never applies",
        file=ADMISSION,
        before="return QuotaCheck(",
        after="return None and QuotaCheck(",
    ),
)


class Copy:
    """The rules and their tests in a folder of their own."""

    def __init__(self, folder: Path, mutant: Mutant | None = None) -> None:
        self._folder = folder
        leave = shutil.ignore_patterns("__pycache__")
        for layer in LAYERS:
            shutil.copytree(ROOT / layer, folder / layer, ignore=leave)
        shutil.copytree(ROOT / "src", folder / "src", symlinks=True)
        for name in (*HELPERS, *TESTS):
            (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
        if mutant is not None:
            self._plant(mutant)

    def _plant(self, mutant: Mutant) -> None:
        path = self._folder / mutant.file
        source = path.read_text()
        assert source.count(mutant.before) == 1, f"{mutant.name}: {mutant.file} has no such place"
        path.write_text(source.replace(mutant.before, mutant.after))

    def start(self, *options: str) -> "subprocess.Popen[str]":
        """Begin to run the tests."""
        always = ["-q", "-rfE", "--tb=no", "--import-mode=importlib", "-p", "no:cacheprovider"]
        plugins = ["-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:timeout"]
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *always, *plugins, *options, "tests"],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": "src:tests", "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )


def failing(run: "subprocess.Popen[str]") -> tuple[str, ...]:
    """The tests that fail, once all have run."""
    said, _ = run.communicate(timeout=300)
    return tuple(re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE))


def found(mutants: Iterable[Mutant]) -> dict[str, str]:
    """Which test finds which fault; empty where none does.

    A test that fails without any fault finds none.
    """
    with TemporaryDirectory() as name:
        broken = failing(Copy(Path(name)).start())
    assert all("::" in test for test in broken), f"no test would be run: {broken}"
    leave_out = [f"--deselect={test}" for test in broken]
    waiting, report = deque(mutants), {}
    while waiting:
        some = [waiting.popleft() for _ in range(min(len(waiting), os.cpu_count() or 1))]
        report.update(_found_at_once(some, leave_out))
    return report


def _found_at_once(mutants: list[Mutant], leave_out: list[str]) -> dict[str, str]:
    with TemporaryDirectory() as name:
        runs = {
            mutant.name: Copy(Path(name) / str(number), mutant).start("-x", *leave_out)
            for number, mutant in enumerate(mutants)
        }
        return {name: next(iter(failing(run)), "") for name, run in runs.items()}


if __name__ == "__main__":
    wanted = sys.argv[1:]
    results = found(mutant for mutant in MUTANTS if not wanted or mutant.name in wanted)
    for name, test in results.items():
        print(f"{'found' if test else 'NOT FOUND':9}  {name}  {test}")  # noqa: T201
    sys.exit(0 if all(results.values()) else 1)
