"""``python -m benchmarks.durable_turn``: a whole turn on the embedded Postgres, and one by hand.

The one by hand is the tuned floor and SQLAlchemy Core: it claims and decrypts a key, asks, and
writes the same rows as often as a turn does, with none of the checks between them. Both are
measured with a sink in memory, and with a Discord on loopback, where the one by hand posts by
`requests`.
"""

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from benchmarks.discord_process import in_discord, poster, sinks
from benchmarks.happy_turn import SERVER, HappyTurn
from benchmarks.results_file import Table, keep
from benchmarks.run import messages
from benchmarks.timing import side_by_side
from benchmarks.tuned_floor import TunedFloor
from benchmarks.wall_process import walled
from turnkeeper.domain.secret import Sealed
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.master_secrets import local_secret
from turnkeeper.infrastructure.postgres.address import address
from turnkeeper.infrastructure.postgres.engine import Commit, create_engine_for
from turnkeeper.infrastructure.postgres.tables import key_state, owner_settings, provider_keys
from turnkeeper.infrastructure.postgres.turn_tables import (
    channel_leases,
    delivery_intents,
    turn_events,
    turns,
)
from turnkeeper.infrastructure.vault import AesGcmVault

ROUNDS, TURNS, WARM_UP = 15, 40, 30
BY_HAND, IN_DISCORD = "by hand", ", in Discord"
Post = Callable[[str, str], str]
"""Posts a text under a nonce, and returns the message's id."""
BEFORE_THE_POST = 8  # so many of a turn's events are written with its intent
NOW = sa.func.now()
SOON = NOW + sa.text("interval '30 seconds'")

FREE_KEY = (
    sa.select(key_state.c.key_id)
    .where(key_state.c.owner == sa.bindparam("who"), ~key_state.c.disabled)
    .order_by(key_state.c.in_flight, key_state.c.usage_count)
    .limit(1)
    .scalar_subquery()
)
LEASE = (
    sa.update(key_state)
    .values(in_flight=key_state.c.in_flight + 1, last_leased_at=NOW)
    .where(key_state.c.owner == sa.bindparam("who"), key_state.c.key_id == FREE_KEY)
    .where(provider_keys.c.owner == key_state.c.owner, provider_keys.c.id == key_state.c.key_id)
    .returning(
        key_state.c.key_id,
        key_state.c.provider,
        provider_keys.c.sealed,
        provider_keys.c.key_version,
    )
)
HOLD = insert(channel_leases).on_conflict_do_update(
    index_elements=["server", "channel_id"],
    set_={"turn_id": sa.bindparam("held_by"), "until": SOON},
)
BOOK = (
    sa.update(key_state)
    .values(in_flight=key_state.c.in_flight - 1, usage_count=key_state.c.usage_count + 1)
    .where(key_state.c.owner == sa.bindparam("who"), key_state.c.key_id == sa.bindparam("which"))
)


class TurnByHand:
    """What a bot would write without turnkeeper, if it kept as much."""

    def __init__(
        self, url: str, vault: AesGcmVault, floor: TunedFloor, post: Post | None = None
    ) -> None:
        self._engine = engine = sa.create_engine(address(url))
        # The lease may be lost with the server, as turnkeeper's own.
        self._soon = create_engine_for(url, pool_size=1, commit=Commit.ASYNCHRONOUS)
        self._vault = vault
        self._floor = floor
        self._post = post
        with engine.connect() as connection:
            self._who = connection.scalar(sa.select(key_state.c.owner))
            kept = sa.select(turns).where(turns.c.result.is_not(None)).limit(1)
            self._turn = dict(connection.execute(kept).mappings().one())
            its_own = turn_events.c.turn_id == self._turn["turn_id"]
            events = sa.select(turn_events).where(its_own).order_by(turn_events.c.seq)
            self._events = [dict(row) for row in connection.execute(events).mappings()]
            mine = delivery_intents.c.turn_id == self._turn["turn_id"]
            self._intent = dict(
                connection.execute(sa.select(delivery_intents).where(mine)).mappings().one()
            )

    def turn(self) -> str:
        """Open, lease, ask, write the intent, and write the end."""
        turn_id, intent_id = uuid4().hex, uuid4().hex[:25]
        events = [row | {"turn_id": turn_id} for row in self._events]
        for row in events:
            row.pop("written_at")
        self._open(turn_id)
        key_id = self._lease()
        text = self._floor.turn()
        with self._engine.connect() as connection, connection.begin():
            intent = self._intent | {"turn_id": turn_id, "intent_id": intent_id}
            intent.pop("written_at")
            connection.execute(
                sa.insert(delivery_intents), intent | {"state": "intended", "message_id": None}
            )
            connection.execute(sa.insert(turn_events), events[:BEFORE_THE_POST])
        message_id = self._intent["message_id"]
        if self._post is not None:
            message_id = self._post(text, intent_id)
        self._close(turn_id, intent_id, message_id, key_id, events[BEFORE_THE_POST:])
        return text

    def _open(self, turn_id: str) -> None:
        known = {name: self._turn[name] for name in ("server", "channel_id", "epoch")}
        with self._engine.connect() as connection, connection.begin():
            connection.execute(
                sa.insert(turns).values(opened_at=NOW, alive_until=SOON),
                known | {"turn_id": turn_id, "status": "running"},
            )
            lease = {"server": known["server"], "channel_id": known["channel_id"]}
            connection.execute(
                HOLD.values(until=SOON), lease | {"turn_id": turn_id, "held_by": turn_id}
            )
            connection.scalar(sa.select(owner_settings.c.version).limit(1))

    def _lease(self) -> int:
        with self._soon.connect() as connection:
            row = connection.execute(LEASE, {"who": self._who}).one()
        sealed = Sealed(version=row.key_version, data=row.sealed)
        self._vault.open(sealed, owner=SERVER, provider=row.provider, row=str(row.key_id))
        return int(row.key_id)

    def _close(
        self,
        turn_id: str,
        intent_id: str,
        message_id: str,
        key_id: int,
        events: list[dict[str, object]],
    ) -> None:
        server = self._turn["server"]
        mine = (turns.c.server == server) & (turns.c.turn_id == turn_id)
        posted = (delivery_intents.c.server == server) & (delivery_intents.c.intent_id == intent_id)
        held = (channel_leases.c.server == server) & (channel_leases.c.turn_id == turn_id)
        with self._engine.connect() as connection, connection.begin():
            connection.execute(sa.update(channel_leases).where(held).values(until=NOW))
            connection.execute(
                sa.update(turns)
                .where(mine)
                .values(
                    status="completed",
                    result=json.dumps(json.loads(self._turn["result"])),
                    ended_at=NOW,
                    alive_until=NOW,
                )
            )
            connection.execute(
                sa.update(delivery_intents)
                .where(posted)
                .values(state="posted", message_id=message_id)
            )
            connection.execute(sa.insert(turn_events), events)
            connection.execute(BOOK, {"who": self._who, "which": key_id})

    def close(self) -> None:
        self._engine.dispose()
        self._soon.dispose()
        self._floor.close()


def measured(folder: Path) -> Table:
    """All ways in turn, and the floor that they stand on."""
    with ExitStack() as stack:
        url, place = stack.enter_context(walled()), stack.enter_context(in_discord())
        said = messages(9)
        server = EmbeddedPostgres(folder)
        database = server.start()
        stack.callback(server.stop)
        ours = stack.enter_context(
            closing(HappyTurn(url, ("answers",), said, data_dir=folder, store="postgres"))
        )
        ours.turn()
        floor = TunedFloor(url, "answers", said)
        vault = AesGcmVault(local_secret(folder))
        by_hand, posting = (
            stack.enter_context(closing(TurnByHand(database, vault, floor, post)))
            for post in (None, poster(place))
        )
        speaking = HappyTurn(
            url,
            ("answers",),
            said,
            data_dir=folder,
            store="postgres",
            server_id="in Discord",
            channel_id=place.channel_id,
            sink=sinks(place),
        )
        stack.enter_context(closing(speaking))
        ways = {
            "floor": floor.turn,
            BY_HAND: by_hand.turn,
            "turnkeeper": ours.turn,
            f"{BY_HAND}{IN_DISCORD}": posting.turn,
            f"turnkeeper{IN_DISCORD}": speaking.turn,
        }
        for _ in range(WARM_UP):
            for way in ways.values():
                way()
        seen = side_by_side(ways, rounds=ROUNDS, turns=TURNS)
    table: Table = {}
    for name, one in seen.items():
        by_hand_s = seen[f"{BY_HAND}{IN_DISCORD}" if name.endswith(IN_DISCORD) else BY_HAND]
        table[name] = {
            "wall_us": one.wall_s * 1e6,
            "cpu_us": one.cpu_s * 1e6,
            "wall_ratio": one.wall_s / by_hand_s.wall_s,
            "cpu_ratio": one.cpu_s / by_hand_s.cpu_s,
        }
    return table


def main() -> None:
    """Measure, print a table, keep the figures."""
    with tempfile.TemporaryDirectory(prefix="tk-") as folder:
        Path(folder).chmod(0o711)  # a database server that root starts runs under an account
        table = measured(Path(folder))
    print(
        f"{'a turn on the embedded Postgres':34}{'wall µs':>9}{'CPU µs':>9}"
        f"{'wall ×':>8}{'CPU ×':>8}"
    )
    for name, row in table.items():
        wall_us, cpu_us, wall, cpu = row.values()
        print(f"{name:34}{wall_us:9.0f}{cpu_us:9.0f}{wall:8.2f}{cpu:8.2f}")
    keep("durable_turn", table, rounds=ROUNDS)


if __name__ == "__main__":
    main()
