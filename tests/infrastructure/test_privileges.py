"""The role that runs turns: all it needs, and no more."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import pytest
from builders import a_request, an_endpoint
from click.testing import CliRunner
from keepers import SERVER, ask_the_wall
from sqlalchemy import Engine, make_url, text

from turnkeeper.application.audit_secrets import audit_secrets
from turnkeeper.application.rotate_secrets import rotate_secrets
from turnkeeper.domain.admission import CooldownRule, CooldownType, QuotaRule
from turnkeeper.domain.errors import SettingsError, StoreError
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.secret import Secret
from turnkeeper.infrastructure import postgres
from turnkeeper.infrastructure.master_secrets import MasterSecrets
from turnkeeper.infrastructure.memory.sink import MemorySink
from turnkeeper.infrastructure.postgres.engine import connected, create_engine_for
from turnkeeper.infrastructure.postgres.key_vault import PostgresKeyVault
from turnkeeper.infrastructure.postgres.metadata import metadata
from turnkeeper.infrastructure.postgres.privileges import (
    Given,
    creation,
    give_privileges,
    grants,
)
from turnkeeper.infrastructure.postgres.resealer import PostgresResealer
from turnkeeper.infrastructure.vault import AesGcmVault
from turnkeeper.infrastructure.wall.answer import Answer
from turnkeeper.infrastructure.wall.server import Wall
from turnkeeper.interfaces.cli.program import program
from turnkeeper.interfaces.settings import Settings
from turnkeeper.interfaces.turnkeeper import Turnkeeper

pytestmark = pytest.mark.postgres


@pytest.fixture
def role(database: Engine) -> Iterator[str]:
    """A name for a role of this test's own; roles belong to the whole server."""
    name = f"app_{uuid4().hex}"
    yield name
    execute(database, f"DROP ROLE IF EXISTS {name}_bot")
    with connected(database) as connection:
        there = connection.execute(
            text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": name}
        )
        if there.scalar():
            connection.execute(text(f"DROP OWNED BY {name}"))
            connection.execute(text(f"DROP ROLE {name}"))


@pytest.fixture
def bot_url(database: Engine, database_url: str, role: str) -> str:
    """The database's URL for a user who is only a member of the role."""
    give_privileges(database, role)
    return url_of(database, database_url, f"{role}_bot", f"LOGIN IN ROLE {role}")


@pytest.fixture
def bot(bot_url: str) -> Iterator[Engine]:
    engine = create_engine_for(bot_url, pool_size=4)
    yield engine
    engine.dispose()


def url_of(database: Engine, url: str, user: str, how: str) -> str:
    execute(database, f"CREATE ROLE {user} {how}")
    return make_url(url).set(username=user).render_as_string(hide_password=False)


def execute(engine: Engine, statement: str) -> None:
    with connected(engine) as connection:
        connection.execute(text(statement))


# ── what it may ─────────────────────────────────────────────────────────────────────────────


def test_turns_run_as_that_role_from_the_settings_to_the_journal(
    bot_url: str, tmp_path: Path
) -> None:
    with (
        Wall() as wall,
        Turnkeeper.open(Settings(data_dir=tmp_path, database_url=bot_url)) as keeper,
    ):
        wall.script([Answer(text="Hello.")], model="alpha")
        ask_the_wall(keeper, wall.base_url, key="sk-0123456789abcdef")
        keeper.configure.set_quota(SERVER.id, QuotaRule(enabled=True, daily_per_user=2))
        rule = CooldownRule(type=CooldownType.PER_USER, length_s=1)
        keeper.configure.set_cooldown(SERVER.id, rule)

        sink = MemorySink()
        result = keeper.run(a_request(user_id="ann"), sink)
        keeper.stop(result.turn_id)

        assert (result.status, sink.channel.text) == (TurnStatus.COMPLETED, "Hello.")
        assert keeper.events(result.turn_id)
        assert keeper.recent(1) == (result.turn_id,)


def test_settings_keys_and_endpoints_are_changed_and_removed_as_that_role(
    bot_url: str, tmp_path: Path
) -> None:
    with Turnkeeper.open(Settings(data_dir=tmp_path, database_url=bot_url)) as keeper:
        endpoint = keeper.configure.save_endpoint(SERVER, replace(an_endpoint(), id=0))
        saved = keeper.configure.add_key(SERVER, endpoint.provider, "sk-0123456789abcdef")

        keeper.configure.remove_key(SERVER, saved.key.id)
        keeper.configure.remove_endpoint(SERVER, endpoint.id)

        assert keeper.configure.saved_keys() == ()
        assert keeper.configure.endpoints(SERVER) == ()


def test_secrets_are_rotated_as_that_role(bot: Engine) -> None:
    both = ((1, Secret("one " * 10)), (2, Secret("two " * 10)))
    old, new = (AesGcmVault(MasterSecrets(current=n, by_version=both)) for n in (1, 2))
    PostgresKeyVault(bot, vault=old).add(SERVER, "wall", Secret("sk-0"))
    resealer = PostgresResealer(bot, vault=new)

    assert rotate_secrets(resealer).is_whole
    assert audit_secrets(resealer).removable == (1,)


# ── what it may not ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (a int)",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE ROLE mine",
        "CREATE DATABASE mine",
        "DROP TABLE turns",
        "DROP TABLE provider_keys CASCADE",
        "DROP SCHEMA public CASCADE",
        "ALTER TABLE turns ADD COLUMN a int",
        "ALTER TABLE provider_keys DISABLE TRIGGER ALL",
        "TRUNCATE turns",
        "UPDATE turn_events SET data = ''",
        "DELETE FROM turn_events",
        "DELETE FROM owner_settings",
        "INSERT INTO alembic_version VALUES ('9999')",
        "UPDATE alembic_version SET version_num = '0000'",
        "DELETE FROM alembic_version",
        "SELECT rolpassword FROM pg_authid",
        "SELECT pg_read_file('pg_hba.conf')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "COPY turns TO '/tmp/turns'",
        "SET ROLE turnkeeper",
        "ALTER SYSTEM SET log_statement = 'all'",
        "SELECT setval('provider_key_ids', 1)",
    ],
)
def test_what_no_turn_needs_is_refused(bot: Engine, statement: str) -> None:
    with pytest.raises(StoreError, match="42501"):
        execute(bot, statement)


KINDS = {"r": "SELECT", "S": "USAGE"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_and_sequence_may_be_used_and_none_is_owned(bot: Engine, kind: str) -> None:
    may = f"has_{'table' if kind == 'r' else 'sequence'}_privilege(oid, '{KINDS[kind]}')"
    with connected(bot) as connection:
        found = connection.execute(
            text(
                f"SELECT relname, {may}, pg_has_role(relowner, 'USAGE') FROM pg_class"
                f" WHERE relkind = '{kind}' AND relnamespace = 'public'::regnamespace"
            )
        ).all()

    assert [name for name, is_usable, is_owned in found if is_owned or not is_usable] == []
    assert "turns" in {name for name, *_ in found} or kind == "S"


def test_a_process_that_knows_nothing_else_grants_all_tables() -> None:
    told = "from turnkeeper.infrastructure.postgres.privileges import grants; print(*grants())"
    for module in Path(postgres.__path__[0]).glob("*tables.py"):
        import_module(f"{postgres.__name__}.{module.stem}")

    run = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True
    )

    granted = set(re.findall(r" ON TABLE public\.(\w+) TO ", run.stdout))
    assert granted == {"alembic_version", *metadata.tables}


def test_who_may_not_migrate_is_told_who_may(bot: Engine, database: Engine) -> None:
    execute(database, "ALTER TABLE turns RENAME TO others")
    execute(database, "CREATE TABLE turns (a int)")

    with pytest.raises(StoreError, match="let the owner of the tables run `turnkeeper migrate"):
        execute(bot, "SELECT * FROM turns")


# ── how it is made ──────────────────────────────────────────────────────────────────────────


def test_the_role_is_made_once_and_then_brought_up_to_date(database: Engine, role: str) -> None:
    assert give_privileges(database, role) is Given.CREATED
    execute(database, f"GRANT DELETE ON turn_events TO {role}")

    assert give_privileges(database, role) is Given.GRANTED
    with connected(database) as connection:
        asking = text(f"SELECT has_table_privilege('{role}', 'turn_events', 'DELETE')")
        assert connection.execute(asking).scalar_one() is False


def test_who_may_make_no_role_gets_the_statements(bot_url: str) -> None:
    arguments = ("--database-url", bot_url, "migrate", "--app-role", "some_other_role")

    result = CliRunner().invoke(program, arguments)

    assert result.exit_code == 0
    first, second, *statements = result.stdout.splitlines()
    assert first == "the schema is up to date"
    assert second.startswith("there is no role some_other_role, and this user may not make it")
    assert statements == [
        f"{one};" for one in (creation("some_other_role"), *grants("some_other_role"))
    ]


def test_the_command_makes_the_role(database_url: str, role: str) -> None:
    arguments = ("--database-url", database_url, "migrate", "--json", "--app-role", role)

    result = CliRunner().invoke(program, arguments)

    assert result.stdout == f'{{"applied": [], "app_role": "{role}", "role": "created"}}\n'


def test_the_printed_statements_do_the_same(database: Engine, database_url: str, role: str) -> None:
    printed = CliRunner().invoke(program, ("db", "grants", "--role", role)).stdout
    for statement in printed.splitlines():
        execute(database, statement)
    engine = create_engine_for(
        url_of(database, database_url, f"{role}_bot", f"LOGIN IN ROLE {role}"), pool_size=1
    )

    execute(engine, "SELECT * FROM provider_keys")
    engine.dispose()


@pytest.mark.parametrize("name", ["", "public; DROP TABLE turns", 'a"b', "A", "x" * 64])
def test_a_role_has_a_plain_name(name: str) -> None:
    with pytest.raises(SettingsError, match="is no name for a role"):
        creation(name)


def prune_as(url: str, folder: Path) -> tuple[int, str]:
    """How `prune` ends, and what it says."""
    arguments = ("--data-dir", str(folder), "--database-url", url, "prune", "--days", "30")
    result = CliRunner().invoke(program, arguments)
    return result.exit_code, result.output


def test_that_role_is_told_which_login_forgets_old_turns(
    database: Engine, database_url: str, bot_url: str, tmp_path: Path
) -> None:
    execute(
        database,
        "INSERT INTO turn_events (server, turn_id, seq, at_s, kind, data, written_at)"
        " VALUES ('guild', 'old', 0, 0, 'cleaned_up', '{}', now() - interval '40 days')",
    )
    bot, owner = make_url(bot_url).username, make_url(database_url).username

    refused, said = prune_as(bot_url, tmp_path)

    assert (refused, len(said.splitlines())) == (1, 1)
    assert (
        f"'{bot}' may not delete journals, as the role that runs turns may not: prune with the"
        f" login of the tables' owner, '{owner}' (--database-url); nothing was forgotten"
    ) in said
    assert prune_as(database_url, tmp_path) == (
        0,
        "forgotten 0\n"
        "forgotten: 0 turns, 1 journals of 1 entries, 0 messages in the ledger, 0 notices,"
        " 0 quota units, 0 refusals\n",
    )
