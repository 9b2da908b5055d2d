import stat
import subprocess
import sys
from pathlib import Path

import pytest

from turnkeeper.domain.errors import SettingsError, VaultError
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure.master_secrets import MasterSecrets, local_secret, secrets_from

PLANTED = "planted-master-secret"


def test_without_variables_there_are_no_secrets() -> None:
    assert secrets_from({"PATH": "/bin", "TURNKEEPER_DATABASE_URL": "x"}) is None


def test_numbered_secrets_are_read_and_the_highest_is_current() -> None:
    environ = {"TURNKEEPER_SECRET_V10": " ten\n", "TURNKEEPER_SECRET_V2": "two"}

    assert secrets_from(environ) == MasterSecrets(
        current=10, by_version=((2, Secret("two")), (10, Secret("ten")))
    )


def test_the_current_version_can_be_named() -> None:
    environ = {
        "TURNKEEPER_SECRET_V1": "one",
        "TURNKEEPER_SECRET_V2": "two",
        "TURNKEEPER_SECRET_CURRENT": "1",
    }

    assert secrets_from(environ) == MasterSecrets(
        current=1, by_version=((1, Secret("one")), (2, Secret("two")))
    )


@pytest.mark.parametrize(
    "named", ["", "0", "-1", "01", "+1", "1.0", "1 ", " 1", "1x", "١", "V1", "2147483648"]
)
def test_a_current_version_that_is_no_plain_number_is_refused(named: str) -> None:
    environ = {"TURNKEEPER_SECRET_V1": PLANTED, "TURNKEEPER_SECRET_CURRENT": named}

    with pytest.raises(SettingsError, match="TURNKEEPER_SECRET_CURRENT: a version is"):
        secrets_from(environ)


def test_a_current_version_that_is_not_there_is_refused() -> None:
    environ = {"TURNKEEPER_SECRET_V1": PLANTED, "TURNKEEPER_SECRET_CURRENT": "2"}

    with pytest.raises(SettingsError) as refusal:
        secrets_from(environ)

    assert str(refusal.value) == (
        "TURNKEEPER_SECRET_CURRENT is 2, but TURNKEEPER_SECRET_V2 is not set"
    )


def test_a_current_version_without_any_secret_is_refused() -> None:
    with pytest.raises(SettingsError, match="TURNKEEPER_SECRET_V1 is not set"):
        secrets_from({"TURNKEEPER_SECRET_CURRENT": "1"})


@pytest.mark.parametrize(
    "name",
    [
        "TURNKEEPER_SECRET",
        "TURNKEEPER_SECRET_V",
        "TURNKEEPER_SECRET_1",
        "TURNKEEPER_SECRET_V1_",
        "TURNKEEPER_SECRET_Vx",
        "TURNKEEPER_SECRET_V0",
        "TURNKEEPER_SECRET_V01",
        "TURNKEEPER_SECRETS_V1",
        "TURNKEEPER_SECRET_V9999999999",
    ],
)
def test_a_name_that_is_nearly_right_is_refused_without_its_value(name: str) -> None:
    with pytest.raises(SettingsError, match=name) as refusal:
        secrets_from({"TURNKEEPER_SECRET_V1": "one", name: PLANTED})

    assert PLANTED not in str(refusal.value)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_secret_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="TURNKEEPER_SECRET_V1 is empty"):
        secrets_from({"TURNKEEPER_SECRET_V1": text})


def test_short_secrets_are_told_by_their_versions() -> None:
    masters = secrets_from({"TURNKEEPER_SECRET_V1": "a" * 31, "TURNKEEPER_SECRET_V2": "b" * 32})

    assert masters is not None
    assert masters.short_versions == (1,)


def test_master_secrets_do_not_print() -> None:
    assert PLANTED not in repr(secrets_from({"TURNKEEPER_SECRET_V1": PLANTED}))


@pytest.mark.parametrize(("current", "versions"), [(2, (1,)), (1, ()), (1, (1, 1)), (0, (0, 1))])
def test_master_secrets_without_sense_are_refused(current: int, versions: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be"):
        MasterSecrets(current=current, by_version=tuple((n, Secret("x")) for n in versions))


def test_a_local_secret_is_made_once(tmp_path: Path) -> None:
    first = local_secret(tmp_path / "data")

    assert first == local_secret(tmp_path / "data")
    assert first.short_versions == ()


def test_two_folders_have_different_local_secrets(tmp_path: Path) -> None:
    assert local_secret(tmp_path / "a") != local_secret(tmp_path / "b")


def test_only_its_owner_reads_the_local_secret(tmp_path: Path) -> None:
    local_secret(tmp_path)

    assert [(p.name, stat.filemode(p.stat().st_mode)) for p in tmp_path.iterdir()] == [
        ("master-secret", "-rw-------")
    ]


def test_a_local_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    local_secret(tmp_path)
    (tmp_path / "master-secret").chmod(0o644)

    with pytest.raises(VaultError, match="mode 644"):
        local_secret(tmp_path)


def test_an_empty_local_secret_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "master-secret"
    path.touch(mode=0o600)

    with pytest.raises(VaultError, match="is empty"):
        local_secret(tmp_path)

    assert path.read_bytes() == b""


def test_a_folder_that_cannot_be_made_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(VaultError, match="set TURNKEEPER_SECRET_V1"):
        local_secret(tmp_path / "file")


RACER = """
import sys
from pathlib import Path
from turnkeeper.infrastructure.master_secrets import local_secret
print("ready", flush=True)
sys.stdin.readline()
print(local_secret(Path(sys.argv[1])).by_version[0][1].reveal())
"""


def test_processes_that_start_at_once_get_one_local_secret(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path / "data")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()

    found = {racer.communicate(timeout=30)[0].strip() for racer in racers}

    assert found == {local_secret(tmp_path / "data").by_version[0][1].reveal()}
