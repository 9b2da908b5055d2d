"""Where figures are kept, with the machine that they are from."""

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Table = dict[str, dict[str, float]]


def keep(name: str, table: Table, *, rounds: int, notes: Mapping[str, Any] | None = None) -> None:
    """Write a table to the results, in place of the last one.

    Args:
        notes: What else is to be known of it, such as versions.
    """
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "python": platform.python_version(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            # How many processes wanted to run meanwhile, this one's among them.
            "load": round(os.getloadavg()[1], 1),
            "nice": os.nice(0),
        },
        "rounds": rounds,
        **(notes or {}),
        "table": table,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n")
