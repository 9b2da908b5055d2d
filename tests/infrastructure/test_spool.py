import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from builders import NOON, a_delivery
from contracts.spool import CANARY, a_full_closing
from contracts.stores import a_closing, an_intent
from fakes import FrozenClock

from turnkeeper.application.ports.ledger import Fates
from turnkeeper.application.ports.spool import LateIntent, LeftBehind
from turnkeeper.application.ports.turn_store import Booked, Closing
from turnkeeper.domain.errors import StoreError
from turnkeeper.infrastructure.spool import FileSpool
from turnkeeper.infrastructure.spool_codec import NOT_KEPT, line_of, record_of

FATES = Fates(posted=(("i0", a_delivery("m0", text="what was said")),), taken_back=("m9",))
KEPT_FATES = Fates(posted=(("i0", a_delivery("m0", text="")),), taken_back=("m9",))
LATE = LateIntent(intent=an_intent(), written_at=NOON, fates=KEPT_FATES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def spool(folder: Path) -> Iterator[FileSpool]:
    made = FileSpool(folder, clock=FrozenClock())
    yield made
    made.close()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*")) if folder.exists() else []


def left_in(folder: Path) -> list[LeftBehind]:
    """What dead processes left there; it is forgotten then."""
    found = []
    for left_behind in FileSpool(folder, clock=FrozenClock()).left_behind():
        with left_behind as left:
            found.append(left)
    return found


def kept(closing: Closing) -> Closing:
    """As it comes back: without the secrets of its leases."""
    bookings = tuple(
        Booked(
            lease=replace(one.lease, secret=NOT_KEPT),
            booking=one.booking,
            keeps_lease=one.keeps_lease,
        )
        for one in closing.bookings
    )
    return replace(closing, bookings=bookings)


# ── lines ───────────────────────────────────────────────────────────────────────────────────


def test_an_intent_comes_back_as_it_was() -> None:
    assert record_of(line_of(LATE)) == LATE


def test_an_end_comes_back_without_its_secret() -> None:
    line = line_of(a_full_closing())

    assert record_of(line) == kept(a_full_closing())
    assert CANARY.encode() not in line


def test_a_line_that_was_cut_off_or_changed_is_no_record() -> None:
    line = line_of(LATE)
    changed = line.replace(b'"i1"', b'"i2"')

    assert changed != line
    for broken in (line[:-9], changed, b"", b"[]", b"\xff", b'{"sum":"0","record":{}}'):
        with pytest.raises(ValueError, match=r".*"):
            record_of(broken)


# ── files ───────────────────────────────────────────────────────────────────────────────────


def test_there_is_no_file_before_there_is_something_to_keep(spool: FileSpool, folder: Path) -> None:
    spool.end_was_written("t1")
    spool.were_written(0)

    assert (spool.late(), files(folder)) == ((), [])


def test_what_is_kept_is_for_its_owner_alone(spool: FileSpool, folder: Path) -> None:
    spool.keep_intent(an_intent(), FATES)

    (file,) = files(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    assert spool.late() == (LATE,)
    assert b"what was said" not in file.read_bytes()


def test_what_was_written_since_is_forgotten(spool: FileSpool, folder: Path) -> None:
    spool.keep_intent(an_intent(), FATES)
    spool.keep_end(a_closing())
    spool.were_written(1)
    (file,) = files(folder)
    while_some_waits = file.stat().st_size

    spool.end_was_written("t1")

    assert (while_some_waits > 0, file.stat().st_size, spool.late()) == (True, 0, ())


def test_an_end_is_kept_once(spool: FileSpool, folder: Path) -> None:
    spool.keep_end(a_closing())
    (file,) = files(folder)
    size = file.stat().st_size
    spool.keep_end(a_closing())

    assert file.stat().st_size == size


def test_a_process_that_ends_well_leaves_no_empty_file(folder: Path) -> None:
    spool = FileSpool(folder, clock=FrozenClock())
    spool.keep_intent(an_intent(), FATES)
    spool.were_written(1)

    spool.close()

    assert files(folder) == []


def test_what_a_process_could_not_write_it_leaves_to_the_next(folder: Path) -> None:
    spool = FileSpool(folder, clock=FrozenClock())
    spool.keep_intent(an_intent(), FATES)
    spool.keep_end(a_full_closing())
    spool.keep_end(a_closing("t2"))
    spool.end_was_written("t2")

    spool.close()

    assert left_in(folder) == [LeftBehind(kept=(LATE, kept(a_full_closing())))]
    assert files(folder) == []


def test_nobody_reads_what_a_living_process_keeps(spool: FileSpool, folder: Path) -> None:
    spool.keep_intent(an_intent(), FATES)

    assert list(spool.left_behind()) == []
    assert left_in(folder) == []
    assert len(files(folder)) == 1


def test_what_cannot_be_fed_is_kept(folder: Path) -> None:
    spool = FileSpool(folder, clock=FrozenClock())
    spool.keep_intent(an_intent(), FATES)
    spool.close()

    def feed() -> None:
        for left_behind in FileSpool(folder, clock=FrozenClock()).left_behind():
            with left_behind:
                raise StoreError("away")

    with pytest.raises(StoreError, match="away"):
        feed()
    assert left_in(folder) == [LeftBehind(kept=(LATE,))]


def test_a_last_line_that_was_cut_off_is_left_out(folder: Path) -> None:
    folder.mkdir()
    (folder / "1-dead.jsonl").write_bytes(line_of(LATE) + line_of(a_closing())[:-20])

    assert left_in(folder) == [LeftBehind(kept=(LATE,))]


def test_a_line_that_makes_no_sense_hides_no_other(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir()
    (folder / "1-dead.jsonl").write_bytes(b"nonsense\n" + line_of(LATE))

    assert left_in(folder) == [LeftBehind(kept=(LATE,), unreadable=1)]
    assert "line 1 is left out" in caplog.text


def test_a_full_file_takes_nothing_more(folder: Path) -> None:
    size = len(line_of(LATE))
    spool = FileSpool(folder, clock=FrozenClock(), max_bytes=size)
    spool.keep_intent(an_intent(), FATES)

    with pytest.raises(StoreError, match=f"full: {size} bytes"):
        spool.keep_intent(an_intent("i2"), FATES)
    assert spool.late() == (LATE,)
    spool.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    spool = FileSpool(tmp_path / "file" / "spool", clock=FrozenClock())

    with pytest.raises(StoreError, match="TURNKEEPER_DATA_DIR"):
        spool.keep_intent(an_intent(), FATES)


def test_a_file_that_was_looked_at_by_another_is_passed_by(folder: Path) -> None:
    folder.mkdir()
    file = folder / "1-dead.jsonl"
    file.write_bytes(line_of(LATE))
    descriptor = os.open(file, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    while_it_is_held = left_in(folder)
    os.close(descriptor)

    assert (while_it_is_held, left_in(folder)) == ([], [LeftBehind(kept=(LATE,))])


KEEPER = """
import sys
from pathlib import Path
from turnkeeper.application.ports.ledger import Fates, Intent
from turnkeeper.domain.outcome import Origin
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.spool import FileSpool

spool = FileSpool(Path(sys.argv[1]), clock=SystemClock())
intent = Intent(
    intent_id="i1", turn_id="t1", epoch=1, server_id="guild", channel_id="channel",
    origin=Origin.STREAM, content_hash="0",
)
spool.keep_intent(intent, Fates())
print("kept", flush=True)
sys.stdin.readline()
"""


def test_what_a_killed_process_kept_is_read_once_it_is_dead(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "kept\n"
        while_it_lives = left_in(folder)
        process.send_signal(signal.SIGKILL)
        process.wait(30)

    (left,) = left_in(folder)

    assert while_it_lives == []
    (late,) = left.kept
    assert isinstance(late, LateIntent)
    assert (late.intent.intent_id, files(folder)) == ("i1", [])
