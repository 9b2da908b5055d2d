"""Importing the inner layers loads nothing foreign."""

import json
import subprocess
import sys

import pytest

FOREIGN = (
    "alembic",
    "bpe_openai",
    "click",
    "cryptography",
    "dependency_injector",
    "imagesize",
    "jinja2",
    "markupsafe",
    "opentelemetry",
    "orjson",
    "prometheus_client",
    "psycopg",
    "puremagic",
    "pydantic",
    "requests",
    "rich",
    "sqlalchemy",
    "sseclient",
    "structlog",
    "tiktoken",
    "urllib3",
    "waitress",
)


def loaded_by(module: str) -> set[str]:
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "module",
    [
        "turnkeeper",
        "turnkeeper.domain.steps",
        "turnkeeper.domain.contract",
        "turnkeeper.application.run_generation_turn",
    ],
)
def test_it_loads_no_third_party_package(module: str) -> None:
    assert loaded_by(module) & set(FOREIGN) == set()
