"""What each page shows, read when it is asked for."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

from turnkeeper.application.list_turns import ListTurns, TurnsPage
from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.reports import MOST_KEY_TROUBLES, Reports
from turnkeeper.application.ports.turn_history import TurnCursor, TurnQuery
from turnkeeper.application.saved_pools import PoolsSeen, SavedPools
from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TURN_STATES
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.pool_history import Window
from turnkeeper.domain.redact import redact
from turnkeeper.domain.reports import error_kinds, rates, summary
from turnkeeper.domain.waterfall import waterfall
from turnkeeper.interfaces.dashboard.drawing import clock_ticks, drawn_fall
from turnkeeper.interfaces.dashboard.pool_view import LOOK_BACK, drawn_pools
from turnkeeper.interfaces.dashboard.render import render, style_source
from turnkeeper.interfaces.explain import explained

WINDOWS = (
    (15, "15 minutes"),
    (60, "an hour"),
    (1_440, "a day"),
    (10_080, "a week"),
    (43_200, "30 days"),
)
"""Minutes, and how people call them."""
A_DAY = 1_440
SHOWS_RESCUED = "rescued"

Query = Mapping[str, str]


class NotFound(Exception):
    """There is no such page."""


@frozen
class Frame:
    """What stands around each page.

    Attributes:
        base: The path under which the pages are mounted, without a slash at its end.
        here: Which of them it is.
    """

    base: str
    here: str = ""


@frozen
class Sources:
    """Where the pages read what they show."""

    turns: ListTurns
    pools: SavedPools
    reports: Reports
    clock: Clock


class Pages:
    """Makes the pages; each method returns a whole one.

    Args:
        most: How many turns a page lists.
    """

    def __init__(self, sources: Sources, *, most: int = 50) -> None:
        self._sources = sources
        self._most = most

    def turns(self, query: Query, base: str) -> str:
        """The turns, the newest first."""
        asked = {name: query.get(name, "").strip() for name in ("show", "server", "user")}
        before = _cursor(query)
        page = self._page(asked, before)
        return render(
            "turns.html",
            frame=Frame(base=base, here="turns"),
            turns=page.turns,
            states=TURN_STATES,
            asked=asked,
            is_whole=before is None and not any(asked.values()),
            is_first=before is None,
            older=_query(asked, page.next) if page.next else None,
            newest=_query(asked),
        )

    def _page(self, asked: Query, before: TurnCursor | None) -> TurnsPage:
        show = asked["show"]
        try:
            query = TurnQuery(
                server=Owner.parse(_named(asked["server"])) if asked["server"] else None,
                user_id=asked["user"].removeprefix("user:") or None,
                status=show if show in TURN_STATES else None,
                rescued_only=show == SHOWS_RESCUED,
            )
        except ValueError:  # no server is called so
            return TurnsPage(turns=())
        return self._sources.turns(query, before=before, limit=self._most)

    def turn(self, turn_id: str, base: str) -> str:
        """One turn: its waterfall, and why each step was taken.

        Raises:
            NotFound: Nothing is known of it.
        """
        turn = self._sources.reports.turn(turn_id)
        if turn is None:
            raise NotFound(f"there is no turn {turn_id!r}")
        frame = Frame(base=base, here="turn")
        return render("turn.html", frame=frame, turn=turn, **_turn(turn.entries))

    def pool(self, query: Query, base: str) -> str:
        """The keys, and how fit they were."""
        owner = _named(query.get("owner", "").strip())
        seen = self._pools_of(owner)
        window = _window(query, seen.now)
        troubles = self._sources.reports.key_troubles(window.since - LOOK_BACK)
        found = drawn_pools(seen.pools, troubles, window)
        return render(
            "pool.html",
            frame=Frame(base=base, here="pool"),
            pools=found.pools,
            left_out=found.left_out,
            owner=owner,
            is_cut=len(troubles) == MOST_KEY_TROUBLES,
            ticks=clock_ticks(window),
            windows=WINDOWS,
            minutes=_minutes(query),
        )

    def rates(self, query: Query, base: str) -> str:
        """How often models needed rescuing, and what failed."""
        window = _window(query, self._sources.clock.now())
        past = self._sources.reports.past(window.since)
        kinds = error_kinds(past)
        return render(
            "rates.html",
            frame=Frame(base=base, here="rates"),
            rates=rates(past),
            kinds=kinds,
            most=max((one.count for one in kinds), default=1),
            troubled=len(past.troubled),
            is_cut=past.is_cut,
            windows=WINDOWS,
            minutes=_minutes(query),
        )

    def _pools_of(self, owner: str) -> PoolsSeen:
        if not owner:
            return self._sources.pools()
        try:
            return self._sources.pools(Owner.parse(owner))
        except ValueError:  # nobody is called so
            return PoolsSeen(now=self._sources.clock.now(), pools=())


def turn_file(entries: tuple[Entry, ...]) -> str:
    """One turn as a page of its own, to be sent to somebody.

    Args:
        entries: The turn's journal; at least one.
    """
    return render("file.html", style_source=style_source(), **_turn(entries))


def message(base: str, title: str, text: str) -> str:
    """A page that only says something."""
    return render("message.html", frame=Frame(base=base), title=title, text=text)


def sign_in(base: str, *, was_wrong: bool) -> str:
    """The page that asks for the token."""
    return render("sign_in.html", frame=Frame(base=base), was_wrong=was_wrong)


def _turn(entries: tuple[Entry, ...]) -> dict[str, object]:
    return {
        "turn_id": entries[0].turn_id,
        "line": summary(entries),
        "fall": drawn_fall(waterfall(entries)),
        "why": explained(entries),
    }


def _named(owner: str) -> str:
    """A server or a user as the store writes it; people may leave out that it is a server."""
    return owner if ":" in owner or not owner else f"server:{owner}"


def _window(query: Query, now: datetime) -> Window:
    return Window(now - timedelta(minutes=_minutes(query)), now)


def _minutes(query: Query) -> int:
    """Only what is offered, so that nobody asks for years."""
    offered = {str(minutes): minutes for minutes, _ in WINDOWS}
    return offered.get(query.get("minutes", ""), A_DAY)


def _cursor(query: Query) -> TurnCursor | None:
    """Where the page begins; what is no place is the first."""
    try:
        return TurnCursor.parse(query.get("before", ""))
    except ValueError:
        return None


def _query(asked: Query, before: TurnCursor | None = None) -> str:
    """A query that asks for a page, with what was asked for kept."""
    given = {name: redact(value) for name, value in asked.items() if value}
    if before is not None:
        given["before"] = str(before)
    return urlencode(given)
