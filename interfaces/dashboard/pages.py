"""What each page shows, read when it is asked for."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from turnkeeper.application.ports.clock import Clock
from turnkeeper.application.ports.key_ring import KeyVault, SavedKey
from turnkeeper.application.ports.reports import MOST_KEY_TROUBLES, Asked, Place, Reports
from turnkeeper.domain.events import Entry
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.owner import Owner
from turnkeeper.domain.pool_history import Window
from turnkeeper.domain.redact import redact
from turnkeeper.domain.reports import SWEPT, error_kinds, rates, summary
from turnkeeper.domain.waterfall import waterfall
from turnkeeper.interfaces.dashboard.drawing import clock_ticks, drawn_fall
from turnkeeper.interfaces.dashboard.pool_view import LOOK_BACK, pool_views
from turnkeeper.interfaces.dashboard.render import render, style_source
from turnkeeper.interfaces.explain import explained

STATUSES = (
    *(status.value for status in TurnStatus if status is not TurnStatus.FUNCTION_CALL),
    SWEPT,
)
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


class Pages:
    """Makes the pages; each method returns a whole one.

    Args:
        most: How many turns a page lists.
    """

    def __init__(self, reports: Reports, keys: KeyVault, clock: Clock, *, most: int = 50) -> None:
        self._reports = reports
        self._keys = keys
        self._clock = clock
        self._most = most

    def turns(self, query: Query, base: str) -> str:
        """The turns that are over, the latest first."""
        show, server = query.get("show", ""), query.get("server", "").strip()
        asked = Asked(
            status=show if show in STATUSES else None,
            rescued=show == SHOWS_RESCUED,
            server=_owner(server),
            before=_place(query),
            limit=self._most,
        )
        page = self._reports.page(asked)
        kept = {"show": show, "server": server}
        return render(
            "turns.html",
            frame=Frame(base=base, here="turns"),
            turns=[(turn, summary(turn.entries)) for turn in page.turns],
            statuses=STATUSES,
            show=show,
            server=server,
            is_first=asked.before is None,
            older=_query(kept, page.next) if page.next else None,
            newest=_query(kept),
        )

    def turn(self, turn_id: str, base: str) -> str:
        """One turn: its waterfall, and why each step was taken.

        Raises:
            NotFound: Nothing is known of it.
        """
        turn = self._reports.turn(turn_id)
        if turn is None:
            raise NotFound(f"there is no turn {turn_id!r}")
        frame = Frame(base=base, here="turn")
        return render("turn.html", frame=frame, turn=turn, **_turn(turn.entries))

    def pool(self, query: Query, base: str) -> str:
        """The keys, and how fit they were."""
        window, asked = self._window(query), _owner(query.get("owner", "").strip())
        troubles = self._reports.key_troubles(window.since - LOOK_BACK)
        found = pool_views(self._keys_of(asked), troubles, window)
        return render(
            "pool.html",
            frame=Frame(base=base, here="pool"),
            pools=found.views,
            left_out=found.left_out,
            owner=asked or "",
            is_cut=len(troubles) == MOST_KEY_TROUBLES,
            ticks=clock_ticks(window),
            windows=WINDOWS,
            minutes=_minutes(query),
        )

    def rates(self, query: Query, base: str) -> str:
        """How often models needed rescuing, and what failed."""
        window = self._window(query)
        past = self._reports.past(window.since)
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

    def _keys_of(self, asked: str | None) -> tuple[SavedKey, ...]:
        if asked is None:
            return self._keys.keys()
        try:
            return self._keys.keys(Owner.parse(asked))
        except ValueError:  # nobody is called so
            return ()

    def _window(self, query: Query) -> Window:
        now = self._clock.now()
        return Window(now - timedelta(minutes=_minutes(query)), now)


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


def _owner(name: str) -> str | None:
    """A server or a user as the store writes it; people may leave out that it is a server."""
    if not name:
        return None
    return name if ":" in name else f"server:{name}"


def _minutes(query: Query) -> int:
    """Only what is offered, so that nobody asks for years."""
    offered = {str(minutes): minutes for minutes, _ in WINDOWS}
    return offered.get(query.get("minutes", ""), A_DAY)


def _place(query: Query) -> Place | None:
    """Where the page begins; what is no place is the first."""
    try:
        at = datetime.fromisoformat(query.get("before", ""))
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return Place(over_at=at, turn_id=query.get("turn", ""))


def _query(kept: Query, place: Place | None = None) -> str:
    """A query that asks for a page, with what was asked for kept."""
    given = {name: redact(value) for name, value in kept.items() if value}
    if place is not None:
        given |= {"before": place.over_at.isoformat(), "turn": place.turn_id}
    return urlencode(given)
