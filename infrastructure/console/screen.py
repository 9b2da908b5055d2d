"""Two ways to show a transcript: drawn anew at each change, or line after line."""

from collections.abc import Iterator
from typing import Protocol

from rich.console import Console, ConsoleOptions, Group
from rich.live import Live
from rich.segment import Segment, Segments
from rich.text import Text

from turnkeeper.infrastructure.console.transcript import Kind, Line, Transcript, shortened

STYLES = {
    Kind.MESSAGE: "",
    Kind.TAKEN_BACK: "dim strike",
    Kind.NOTE: "yellow",
    Kind.ERROR: "bold red",
    Kind.END: "dim",
}


class Screen(Protocol):
    """Shows a transcript as it changes. Used by one thread at a time."""

    def added(self, line: Line) -> None:
        """A line is new."""
        ...

    def changed(self, before: Line, after: Line) -> None:
        """A message grew, says something else, or was taken back."""
        ...

    def close(self) -> None:
        """Nothing changes any more; a second close does nothing."""
        ...


class LiveScreen(Screen):
    """Draws all of it anew at each change; what was taken back is struck through.

    While it is live, only what fits on the terminal is drawn; the whole stands at the end.
    """

    def __init__(self, console: Console, transcript: Transcript) -> None:
        self._transcript = transcript
        self._live = Live(
            console=console,
            auto_refresh=False,  # a thread of its own would draw between two changes
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._is_open = True
        self._live.start()

    def added(self, line: Line) -> None:
        self._draw()

    def changed(self, before: Line, after: Line) -> None:
        self._draw()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._live.update(self._whole(), refresh=True)
            self._live.stop()

    def _draw(self) -> None:
        self._live.update(_Tail(self._whole()), refresh=True)

    def _whole(self) -> Group:
        return Group(*(_styled(line) for line in self._transcript.lines))


class _Tail:
    """The last lines of something, as many as the terminal has."""

    def __init__(self, whole: Group) -> None:
        self._whole = whole

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segments]:
        lines = console.render_lines(self._whole, options, pad=False)
        for line in lines[-max(1, console.height - 1) :]:
            yield Segments([*line, Segment.line()])


class PlainScreen(Screen):
    """Prints line after line; what was printed is not touched again, so it is said instead.

    Args:
        grows: Whether messages come in pieces; the next piece then goes on in the same line.
    """

    def __init__(self, console: Console, *, grows: bool) -> None:
        self._console = console
        self._grows = grows
        self._is_midline = False

    def added(self, line: Line) -> None:
        self._end_line()
        if self._grows and line.kind is Kind.MESSAGE:
            self._go_on(_styled(line))
        else:
            self._print(_styled(line))

    def changed(self, before: Line, after: Line) -> None:
        if after.kind is Kind.TAKEN_BACK:
            self._say(f"taken back: {shortened(after.text)}")
        elif self._is_midline and after.text.startswith(before.text):
            self._go_on(_styled(after, after.text[len(before.text) :]))
        else:
            self._say(f"changed: {shortened(before.text)}")
            self._print(_styled(after))

    def close(self) -> None:
        self._end_line()

    def _say(self, text: str) -> None:
        self._end_line()
        self._print(Text(text, style="dim"))

    def _go_on(self, text: Text) -> None:
        self._print(text, end="")
        self._is_midline = True

    def _end_line(self) -> None:
        if self._is_midline:
            self._is_midline = False
            self._print(Text(""))

    def _print(self, text: Text, end: str = "\n") -> None:
        self._console.print(text, soft_wrap=True, highlight=False, end=end)


def _styled(line: Line, text: str | None = None) -> Text:
    styled = Text(line.text if text is None else text, style=STYLES[line.kind])
    if line.kind is Kind.TAKEN_BACK:
        styled.append("  (taken back)", style="not strike dim red")
    return styled
