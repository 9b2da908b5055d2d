"""``make bench``: all measurements one after the other, and the page of what they say.

``python -m benchmarks NAME …`` makes only these.
"""

import subprocess
import sys

NAMES = (
    *("run", "fallback", "tool_loop", "long_stream", "history", "truncation", "wire"),
    *("connections", "many_threads", "processes", "imports", "durable_turn", "scale"),
    *("watch", "stop", "discord_bot"),
)


def main() -> None:
    """Run them in processes of their own; fail at the end where one of them did."""
    names = tuple(sys.argv[1:]) or NAMES
    missed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            missed.append(name)
    subprocess.run([sys.executable, "-m", "benchmarks.page"], check=True)
    if missed:
        raise SystemExit(f"a goal is missed, or was not measured, in: {', '.join(missed)}")


if __name__ == "__main__":
    main()
