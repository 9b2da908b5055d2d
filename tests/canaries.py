"""Secrets, tokens and what people wrote, planted to be looked for wherever text leaves."""

import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy import Engine, text
from streets import QUESTION, SPARE, House, Street, Way

from turnkeeper.application.ports.sink import Sink
from turnkeeper.domain.conversation import Conversation, Item, Role
from turnkeeper.domain.errors import TurnFailed
from turnkeeper.domain.events import Entry
from turnkeeper.domain.outcome import StreamResult
from turnkeeper.domain.policy import TimeLimits
from turnkeeper.domain.replay import replayed
from turnkeeper.domain.secret import Secret
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.clock import SystemClock
from turnkeeper.infrastructure.http import HttpClient
from turnkeeper.infrastructure.journal_codec import result_to_json
from turnkeeper.infrastructure.journal_file import lines_of
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.telemetry.aside import Aside
from turnkeeper.infrastructure.telemetry.event_log import EventLog
from turnkeeper.infrastructure.threads import ThreadRunner
from turnkeeper.infrastructure.wall.fault import FROM_PRIMARY
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.explain import explained
from turnkeeper.interfaces.providers import providers_of
from turnkeeper.interfaces.replay_words import difference_line, outcome_line
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

MASTER = "kanarien-master-canary-0f9b1c7d5e3a"
# Of no form by which a key could be known: only who has it in use can tell.
KEY = "kanarie7q"
WISH = "Amelia the canary keeps her pension book beneath the third floorboard"
OTHER_WISH = "Bertram the canary has buried the silver spoons behind the boathouse"
CANARIES = {
    "the master secret": MASTER,
    "a key": KEY,
    "what was written": "beneath the third floorboard",
    "who it was about": "Amelia the canary",
    "what somebody else wrote": "behind the boathouse",
    "who that was about": "Bertram the canary",
}


def wish(text: str) -> Conversation:
    """A conversation that ends with somebody's secret."""
    return Conversation(
        items=(*QUESTION.items, Item.said(Role.USER, f"{text}.\nTell nobody!")),
    )


WRITTEN = wish(WISH)

# All streets share one database.
SERVERS = count(1)
MASTER_SECRETS = MasterSecrets(current=1, by_version=((1, Secret(MASTER)),))


class Overheard(logging.Handler):
    """All log records as they would be written, with their tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def overhearing() -> Iterator[Overheard]:
    """All loggers at DEBUG, those of libraries too."""
    handler, root = Overheard(), logging.getLogger()
    before = {name: logging.getLogger(name).level for name in root.manager.loggerDict}
    level = root.level
    root.addHandler(handler)
    for name in ("", "urllib3.connectionpool", "sqlalchemy.engine", "sqlalchemy.pool", *before):
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)
    for name in root.manager.loggerDict:
        logging.getLogger(name).setLevel(before.get(name, logging.NOTSET))


class WatchedStreet(Street):
    """A street whose turnkeepers keep all they keep in Postgres, and count and trace their turns.

    Args:
        more: Further settings.
    """

    def __init__(
        self,
        way: Way,
        wall: Wall,
        http: HttpClient,
        folder: Path,
        url: str,
        clock: SystemClock | None = None,
        **more: Any,
    ) -> None:
        super().__init__(way, wall, http, folder)
        self.url = url
        self.servers = SERVERS
        self._more = more
        self._own_clock = clock or self.clock
        self._spans = InMemorySpanExporter()
        self._runner = ThreadRunner()
        self._aside = Aside(self._runner)

    def close(self) -> None:
        super().close()
        self._runner.close()

    def _opened(self, limits: TimeLimits) -> Turnkeeper:
        settings = Settings(
            database_url=self.url,
            data_dir=self._folder,
            live_limits=False,
            master_secrets=MASTER_SECRETS,
            base_urls={} if self.way.name == "custom" else {self.way.name: self.base_url},
            first_progress_s=limits.first_progress_s,
            silence_ms=int(limits.silence_s * 1000),
            settle_ms=int(limits.settle_s * 1000),
            key_wait_s=0.0,
            metrics=True,
            traces=True,
            **self._more,
        )
        providers = providers_of(settings, self._http, self._own_clock)
        providers.register(SPARE, providers.find(self.way.name))
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        return Turnkeeper.open(
            settings,
            clock=self._own_clock,
            chat_providers=providers,
            trace_providers=lambda: tracers,
        )

    def spans(self) -> list[str]:
        """The spans since the last time, as an exporter would send them."""
        spans = [span.to_json() for span in self._spans.get_finished_spans()]
        self._spans.clear()
        return spans

    def log_of(self, entries: list[Entry]) -> str:
        """The entries as log lines at DEBUG."""
        out = StringIO()
        log = EventLog(aside=self._aside, clock=self.clock, as_json=True, level="debug", out=out)
        for entry in entries:
            log(entry)
        assert self._aside.flush()
        return out.getvalue()


class WatchedHouse(House):
    """A server whose keys are canaries, in which somebody else has just written something."""

    def __init__(self, street: WatchedStreet, limits: TimeLimits) -> None:
        super().__init__(street, limits)
        self.watched = street
        self.script((FROM_PRIMARY,))
        self.keeper.run(
            TurnRequest(conversation=wish(OTHER_WISH), server_id=self.server.id, user_id="bertram"),
            MemorySink(),
        )
        self._before = len(self.calls(self.primary))

    def _key(self, model: str) -> str:
        return f"{KEY}-{model}-{self.server.id}"

    @property
    def asked(self) -> int:
        """How often the primary was asked since."""
        return len(self.calls(self.primary)) - self._before

    def exits_of(self, request: TurnRequest, sink: Sink | None = None) -> Iterator[str]:
        """Whatever leaves a turn, but for what a store has and what others log."""
        yield from self.exits_at_once(request, sink)
        stored = self.keeper.events(self.entries[0].turn_id)
        assert len(stored) == len(self.entries)
        yield from self.told_later(stored)
        yield repr(self.keeper.configure.saved_keys(self.server))

    def exits_at_once(self, request: TurnRequest, sink: Sink | None = None) -> Iterator[str]:
        """What leaves a turn while it runs and as it ends; nothing is asked of the store."""
        self.entries: list[Entry] = []
        self.sink = sink if isinstance(sink, MemorySink) else MemorySink()
        self.watched.spans()
        try:
            result = self.keeper.run(request, sink or self.sink, on_event=self.entries.append)
            yield from (repr(result), str(result), result_to_json(result))
        except TurnFailed as error:
            yield from told_by(error)
        assert self.entries
        yield from map(repr, self.entries)
        yield from (message.text for message in self.sink.channel.messages)
        yield from (shown for error in self.sink.errors for shown in _said_by(error))
        yield from map(repr, (self.sink.notices, self.sink.told))

    def told_later(self, stored: tuple[Entry, ...]) -> Iterator[str]:
        """What is told of the turn: explained, exported, replayed, logged, traced and counted.

        Args:
            stored: Its journal.
        """
        entries = self.entries
        yield from lines_of((stored,))
        yield from (str(why) for why in explained(stored))
        again = replayed(stored)
        yield from (outcome_line(again), repr(again))
        yield from (difference_line(one, again) for one in again.differences)
        yield self.watched.log_of(entries)
        assert self.keeper._container.aside().flush()
        spans = self.watched.spans()
        assert any(entries[0].turn_id in span for span in spans)
        yield from spans
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}
        served = self.keeper.metrics_app()(environ, lambda status, headers: None)
        counted = b"".join(served).decode()
        assert "turnkeeper_turns_total{" in counted
        yield counted


def _said_by(error: StreamResult | Exception) -> Iterator[str]:
    return told_by(error) if isinstance(error, Exception) else iter((repr(error),))


def told_by(error: BaseException) -> Iterator[str]:
    """All that an exception can be made to say, with those that led to it."""
    yield "".join(traceback.format_exception(error))
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)))
        # What is raised from None still has its context, and some reporters look at it.
        waiting += [one.__cause__, one.__context__]


def leaks(texts: Iterable[str], canaries: Mapping[str, str] = CANARIES) -> set[tuple[str, str]]:
    """Which canaries are in which texts, also as JSON spells them."""
    forms = {name: {canary, json.dumps(canary)[1:-1]} for name, canary in canaries.items()}
    return {
        (name, found[max(0, found.find(form) - 80) :][:240])
        for found in texts
        for name, spelt in forms.items()
        for form in spelt
        if form in found
    }


def leaks_in(engine: Engine, canaries: Mapping[str, str] = CANARIES) -> set[tuple[str, str]]:
    """Which canaries are in which rows of any table."""
    found = set()
    with connected(engine) as connection:
        for table in metadata.tables:
            for name, canary in canaries.items():
                query = text(f"SELECT t::text FROM {table} t WHERE t::text LIKE :like LIMIT 3")
                rows = connection.execute(query, {"like": f"%{canary}%"})
                found |= {(name, f"{table}: {row[0][:240]}") for row in rows}
    return found
