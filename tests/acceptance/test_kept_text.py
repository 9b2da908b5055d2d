"""What people and models wrote is in no row of the store, unless it is switched on."""

from pathlib import Path

import pytest
from builders import a_request
from sqlalchemy import Engine, inspect, text
from walled import Walled, opened

from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.behaviour import Refuse
from turnkeeper.infrastructure.wall.server import Wall

pytestmark = pytest.mark.postgres

ASKED, ANSWERED = "where is the silver lamp", "the lamp stands by the door"


def stored(database: Engine) -> str:
    """All rows of all tables."""
    with connected(database) as connection:
        return "\n".join(
            str(row[0])
            for table in inspect(connection).get_table_names()
            for row in connection.execute(text(f"SELECT t::text FROM {table} t"))
        )


@pytest.mark.parametrize("keep_text", [False, True])
def test_what_was_written_is_kept_only_where_it_is_switched_on(
    keep_text: bool, database: Engine, tmp_path: Path
) -> None:
    url = database.url.render_as_string(hide_password=False)
    with (
        Wall() as wall,
        opened(wall, tmp_path, store="postgres", database_url=url, keep_text=keep_text) as keeper,
    ):
        wall.script(Refuse(status=503), model="alpha")
        wall.script(Answer(text=ANSWERED), model="beta")

        result = Walled(keeper, wall).run(a_request(ASKED, trigger_id="message-1"))

    assert (result.status, result.text) == (TurnStatus.COMPLETED, ANSWERED)
    rows = stored(database)
    assert result.turn_id in rows
    assert (ANSWERED in rows, ASKED in rows) == (keep_text, False)
