"""``python -m benchmarks.imports``: what importing costs, each in fresh processes."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.results_file import Table, keep

ROUNDS = 9
TURNKEEPER = "from turnkeeper.interfaces import Turnkeeper"
WHAT = {
    "nothing": "",
    "requests and sseclient": "import requests, sseclient",
    "turnkeeper.domain": "import turnkeeper.domain.steps",
    "turnkeeper.application": "import turnkeeper.application.run_generation_turn",
    "turnkeeper.interfaces": "import turnkeeper.interfaces",
    "its Turnkeeper": TURNKEEPER,
    "... opened on memory": f"{TURNKEEPER}; Turnkeeper.open().close()",
}
# Some modules put others where none can be found, such as requests.packages.
STACK = """
import contextlib, importlib
for name in {modules}:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""
LISTED = f"""
import sys
before = set(sys.modules)
{TURNKEEPER}
print(*(name for name in sys.modules if name not in before and not name.startswith("turnkeeper")))
"""
PROBE = """
import json, resource, sys, time
before = set(sys.modules)
began_s, cpu_s = time.perf_counter(), time.process_time()
{what}
took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
new = set(sys.modules) - before
ours = [name for name in new if name.partition(".")[0] == "turnkeeper"]
known = set(sys.stdlib_module_names) | {{"turnkeeper"}}
foreign = {{name.partition(".")[0] for name in new}} - known
print(json.dumps({{
    "ms": took_s * 1e3,
    "cpu_ms": cpu_s * 1e3,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "modules": len(new),
    "ours": len(ours),
    "foreign": len([name for name in foreign if not name.startswith("_")]),
}}))
"""


def stack() -> str:
    """What imports the modules of others that `Turnkeeper` loads, in the order in which it does."""
    command = [sys.executable, "-c", LISTED]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return STACK.format(modules=done.stdout.split())


def imported(what: str, bytecode: str) -> dict[str, float]:
    """Medians of a few processes, all but the first of which find the bytecode."""
    own = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    kept = {"TURNKEEPER_STORE": "memory", "TURNKEEPER_DATA_DIR": f"{bytecode}/data"}
    environment = {**os.environ, **own, **kept}
    command = [sys.executable, "-c", PROBE.format(what=what)]
    seen = []
    for _ in range(ROUNDS + 1):
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        seen.append(json.loads(done.stdout))
    del seen[0]
    return {name: statistics.median(one[name] for one in seen) for name in seen[0]}


def main() -> None:
    """Measure, print a table, keep the figures, and fail where the domain loads what is foreign."""
    table: Table = {}
    heads = f"{'peak MB':>10}{'modules':>10}{'ours':>8}{'foreign':>10}"
    print(f"{'import':28}{'ms':>8}{'CPU ms':>8}{heads}")
    with tempfile.TemporaryDirectory() as bytecode:
        what_else = {"the stack of Turnkeeper": stack()}
        for name, what in {**WHAT, **what_else}.items():
            row = table[name] = imported(what, bytecode)
            ms, cpu_ms, peak_mb, modules, ours, foreign = row.values()
            figures = f"{peak_mb:10.1f}{modules:10.0f}{ours:8.0f}{foreign:10.0f}"
            print(f"{name:28}{ms:8.0f}{cpu_ms:8.0f}{figures}", flush=True)
    keep("imports", table, rounds=ROUNDS)
    if table["turnkeeper.domain"]["foreign"] or table["turnkeeper.application"]["foreign"]:
        raise SystemExit("the domain or the application loads foreign packages")


if __name__ == "__main__":
    main()
