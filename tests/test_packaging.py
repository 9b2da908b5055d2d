"""The wheel, the links and the disk agree."""

import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_BUILT = (".*", "build", "tests", "benchmarks", "docs", "*.egg-info", "__pycache__")
LAYERS = ("domain", "application", "infrastructure", "interfaces")


def modules_on_disk() -> set[str]:
    found = {"turnkeeper/__init__.py", "turnkeeper/py.typed"}
    for layer in LAYERS:
        found |= {
            f"turnkeeper/{path.relative_to(ROOT)}"
            for path in (ROOT / layer).rglob("*.*")
            if path.suffix in {".py", ".mako", ".html", ".css"} and "__pycache__" not in path.parts
        }
    return found


def test_every_package_on_disk_is_listed() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())

    on_disk = {
        "turnkeeper." + ".".join(path.parent.relative_to(ROOT).parts)
        for layer in LAYERS
        for path in (ROOT / layer).rglob("__init__.py")
    }

    assert listed == on_disk | {"turnkeeper"}


@pytest.mark.parametrize("layer", LAYERS)
def test_the_links_lead_to_the_layers(layer: str) -> None:
    link = ROOT / "src" / "turnkeeper" / layer

    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == ROOT / layer


def test_the_wheel_holds_all_modules_and_nothing_else(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_BUILT))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*build, "-w", str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert names == modules_on_disk()
