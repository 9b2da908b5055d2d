"""Where figures are kept, with the machine that they are from."""

import json
import platform
from datetime import UTC, datetime
from os import cpu_count
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

Table = dict[str, dict[str, float]]


def keep(name: str, table: Table, *, rounds: int) -> None:
    """Write a table to the results, in place of the last one."""
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": cpu_count(),
        },
        "rounds": rounds,
        "table": table,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")
