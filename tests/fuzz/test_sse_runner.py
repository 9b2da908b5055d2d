"""The runner of many event streams finds nothing, and would find something."""

import pytest
from fuzz import sse

from turnkeeper.infrastructure.sse import SseReader


def test_some_thousand_streams_are_read_alike_however_they_are_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sse.main(["--cases", "5000", "--seed", "7"]) == 0
    assert "seed 7: 5000 cases, 0 faults" in capsys.readouterr().out


class Forgetful(SseReader):
    """A reader that forgets what the last piece began."""

    def feed(self, chunk: bytes) -> list[object]:  # type: ignore[override]
        self._begun.clear()
        return [*super().feed(chunk)]


def test_a_reader_that_depends_on_the_cuts_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sse, "SseReader", Forgetful)

    assert sse.main(["--cases", "500", "--seed", "7"]) == 1
    assert "case 7." in capsys.readouterr().out
