import os
import stat
from pathlib import Path

import platformdirs
import pytest

from turnkeeper.infrastructure.data_folder import default_data_folder, make_folder

ROOT = os.geteuid() == 0


def test_data_is_kept_in_the_users_own_folder_but_never_in_roots_home() -> None:
    own = Path(platformdirs.user_data_dir("turnkeeper"))

    assert default_data_folder() == (Path("/var/lib/turnkeeper") if ROOT else own)


def test_a_new_folder_cannot_be_listed_by_others(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")

    expected = "drwx--x--x" if ROOT else "drwx------"
    modes = [stat.filemode(p.stat().st_mode) for p in (tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [expected, expected]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)

    make_folder(tmp_path)
    make_folder(tmp_path / "new")

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file" / "folder")
