"""The engine on a real server that is restarted, silent, full or gone."""

import shutil
import socket
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from folders import make_passable_folder
from sqlalchemy import Engine, event, make_url, text

from turnkeeper.domain.errors import StoreError, StoreUnavailable
from turnkeeper.infrastructure.embedded_postgres import EmbeddedPostgres
from turnkeeper.infrastructure.postgres.address import SECRET_OPTIONS
from turnkeeper.infrastructure.postgres.connection import BoundedConnection, has_hung_up
from turnkeeper.infrastructure.postgres.engine import (
    Commit,
    EngineLimits,
    connected,
    create_engine_for,
    transaction,
)
from turnkeeper.infrastructure.postgres.errors import LacksPrivilege

pytestmark = pytest.mark.postgres

# Put together here, so that no line of this file in a traceback is taken for a leak.
PLANTED = "-".join(("planted", "value"))
INSERT = text("INSERT INTO notes (id, note) VALUES (:id, :note)")


@pytest.fixture(scope="module")
def own_folder() -> Iterator[Path]:
    """The data folder of a server that these tests may stop."""
    folder = make_passable_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own_server(own_folder: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(own_folder, settings={"fsync": "off"})
    yield server
    server.stop()


@pytest.fixture
def notes(database: Engine) -> Engine:
    """An engine whose database has a table of notes."""
    with connected(database) as connection:
        connection.execute(text("CREATE TABLE notes (id int PRIMARY KEY, note text NOT NULL)"))
    return database


@pytest.fixture
def engines() -> Iterator[ExitStack]:
    """Disposes at the end of the engines that are given to it."""
    with ExitStack() as stack:
        yield stack


def an_engine(engines: ExitStack, url: str, **limits: float) -> Engine:
    engine = create_engine_for(url, pool_size=1, limits=EngineLimits(**limits))  # type: ignore[arg-type]
    engines.callback(engine.dispose)
    return engine


def ask(engine: Engine, statement: str, **values: object) -> tuple[object, ...]:
    with connected(engine) as connection:
        return tuple(connection.execute(text(statement), values).one())


def ids(engine: Engine) -> list[int]:
    with connected(engine) as connection:
        return list(connection.execute(text("SELECT id FROM notes ORDER BY id")).scalars())


def insert_and_fail(engine: Engine) -> None:
    with transaction(engine) as connection:
        connection.execute(INSERT, {"id": 1, "note": "a"})
        raise KeyError


def told(error: BaseException) -> str:
    """Return all that a log would say of an error, its causes included."""
    return "".join(traceback.format_exception(error))


def test_a_statement_is_its_own_transaction(notes: Engine) -> None:
    with connected(notes) as writer, connected(notes) as reader:
        writer.execute(INSERT, {"id": 1, "note": "a"})

        assert reader.execute(text("SELECT id FROM notes")).scalars().all() == [1]


def test_a_connection_carries_its_name_and_its_limits(
    database_url: str, engines: ExitStack
) -> None:
    limits = EngineLimits(statement_s=1.5, idle_transaction_s=2.5)
    engine = create_engine_for(database_url, pool_size=1, application_name="bot", limits=limits)
    engines.callback(engine.dispose)
    names = ("application_name", "statement_timeout", "idle_in_transaction_session_timeout")

    settings = [ask(engine, "SELECT current_setting(:name)", name=name)[0] for name in names]

    assert settings == ["bot", "1500ms", "2500ms"]


@pytest.mark.parametrize(
    ("commit", "setting"), [(Commit.DURABLE, "on"), (Commit.ASYNCHRONOUS, "off")]
)
def test_an_engine_commits_durably_or_asynchronously(
    database_url: str, engines: ExitStack, commit: Commit, setting: str
) -> None:
    engine = create_engine_for(database_url, pool_size=1, commit=commit)
    engines.callback(engine.dispose)

    assert ask(engine, "SHOW synchronous_commit") == (setting,)


def test_an_option_of_the_url_wins(database_url: str, engines: ExitStack) -> None:
    url = make_url(database_url).update_query_dict({"options": "-c statement_timeout=77"})
    engine = an_engine(engines, url.render_as_string(hide_password=False))

    assert ask(engine, "SHOW statement_timeout") == ("77ms",)


def test_a_statement_that_comes_again_is_prepared(database_url: str, engines: ExitStack) -> None:
    engine = an_engine(engines, database_url)
    for number in range(6):
        ask(engine, "SELECT CAST(:number AS int) + 1", number=number)

    prepared = ask(
        engine, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%+ 1'"
    )

    assert prepared == (1,)


def test_a_restarted_server_is_not_noticed(own_server: EmbeddedPostgres) -> None:
    engine = create_engine_for(own_server.start(), pool_size=3)
    with connected(engine), connected(engine), connected(engine):
        pass
    own_server.stop()
    own_server.start()

    answers = [ask(engine, "SELECT 1") for _ in range(3)]

    engine.dispose()
    assert answers == [(1,), (1,), (1,)]


def test_a_stopped_server_is_named(own_server: EmbeddedPostgres, own_folder: Path) -> None:
    engine = create_engine_for(own_server.start(), pool_size=1)
    ask(engine, "SELECT 1")
    own_server.stop()

    with pytest.raises(StoreUnavailable) as away:
        ask(engine, "SELECT 1")

    engine.dispose()
    assert f"the database postgres at {own_folder}/postgres/18 cannot be reached" in str(away.value)
    assert "check TURNKEEPER_DATABASE_URL" in str(away.value)


def test_a_wrong_password_is_told_without_it(
    own_server: EmbeddedPostgres, own_folder: Path, engines: ExitStack
) -> None:
    own = an_engine(engines, own_server.start())
    with connected(own) as connection:
        connection.execute(text("DROP ROLE IF EXISTS bob"))
        connection.execute(text("CREATE ROLE bob LOGIN PASSWORD 'right'"))
    own_server.stop()
    rules = own_folder / "postgres" / "18" / "pg_hba.conf"
    rules.write_text("local all bob scram-sha-256\n" + rules.read_text())
    own_server.start()
    url = own.url.set(username="bob", password=PLANTED).render_as_string(hide_password=False)

    with pytest.raises(
        StoreUnavailable, match='password authentication failed for user "bob"'
    ) as e:
        ask(an_engine(engines, url), "SELECT 1")

    assert PLANTED not in told(e.value)


def test_a_missing_database_is_named(database_url: str, engines: ExitStack) -> None:
    url = make_url(database_url).set(database="nosuch").render_as_string(hide_password=False)

    with pytest.raises(StoreUnavailable, match='database "nosuch" does not exist'):
        ask(an_engine(engines, url), "SELECT 1")


def test_a_role_with_too_many_connections_is_told(database_url: str, engines: ExitStack) -> None:
    admin = an_engine(engines, database_url)
    with connected(admin) as connection:
        connection.execute(text("CREATE ROLE few LOGIN CONNECTION LIMIT 0"))
    url = make_url(database_url).set(username="few").render_as_string(hide_password=False)

    with pytest.raises(StoreUnavailable, match='too many connections for role "few"'):
        ask(an_engine(engines, url), "SELECT 1")

    with connected(admin) as connection:
        connection.execute(text("DROP ROLE few"))


def test_a_server_that_does_not_answer_a_new_connection_is_given_up(engines: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://bob:{PLANTED}@127.0.0.1:{silent.getsockname()[1]}/bot"

        with pytest.raises(
            StoreUnavailable, match=r"the database bot at 127\.0\.0\.1:.*timeout"
        ) as e:
            ask(an_engine(engines, url, connect_s=2), "SELECT 1")

    assert PLANTED not in told(e.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        pytest.param("{}", "cannot be read", id="no URL"),
        pytest.param("mysql://bob:{}@db/bot", "does not begin with postgresql:", id="not ours"),
        pytest.param("postgresql://bob:p@{}@db/bot", "an @ too many", id="raw @"),
        pytest.param("postgresql://bob:p@db:{}/bot", "cannot be read", id="port"),
        pytest.param(
            "postgresql://db/bot?password={}&password=p", "gives password twice", id="two"
        ),
        pytest.param(
            "postgresql://db?sslpassword={0}&sslpassword=p", "sslpassword twice", id="two s"
        ),
    ],
)
def test_a_wrong_url_is_told_without_its_password(url: str, why: str) -> None:
    with pytest.raises(StoreUnavailable, match=why) as refusal:
        create_engine_for(url.format(PLANTED), pool_size=1)

    assert PLANTED not in told(refusal.value)


@pytest.mark.parametrize("host", ["127.0.0.1:1", "nosuch.invalid:5432"])
def test_an_unreachable_host_is_named_without_the_password(host: str, engines: ExitStack) -> None:
    engine = an_engine(engines, f"postgres://bob:{PLANTED}@{host}/bot")

    with pytest.raises(StoreUnavailable, match=f"the database bot at {host} cannot be") as refusal:
        ask(engine, "SELECT 1")

    assert PLANTED not in told(refusal.value)


@pytest.mark.parametrize(
    "form", ["postgresql://bob:{}@db/bot", "postgres://bob@db/bot?password={}"]
)
def test_an_engine_does_not_show_its_password(form: str) -> None:
    engine = create_engine_for(form.format(PLANTED), pool_size=1)

    assert repr(engine) == "Engine(postgresql+psycopg://bob:***@db/bot)"


@pytest.mark.parametrize("option", SECRET_OPTIONS)
def test_an_engine_does_not_show_other_secrets_of_the_log_in(option: str) -> None:
    url = f"postgresql://bob:p@db/bot?{option}={PLANTED}&sslmode=require"
    engine = create_engine_for(url, pool_size=1)

    assert repr(engine) == "Engine(postgresql+psycopg://bob:***@db/bot?sslmode=require)"
    assert PLANTED not in f"{engine.url!r} {engine.pool!r} {vars(engine)}"


def test_other_secrets_of_the_log_in_reach_the_driver(
    database_url: str, engines: ExitStack
) -> None:
    url = make_url(database_url).update_query_dict({"sslpassword": PLANTED})
    engine = an_engine(engines, url.render_as_string(hide_password=False))

    with connected(engine) as connection:
        pgconn = connection.connection.driver_connection.pgconn  # type: ignore[union-attr]
        given = {option.keyword: option.val for option in pgconn.info}

    assert given[b"sslpassword"] == PLANTED.encode()


def test_a_full_pool_is_told(database_url: str, engines: ExitStack) -> None:
    engine = an_engine(engines, database_url, checkout_s=0.05)

    with connected(engine), pytest.raises(StoreUnavailable, match="all database connections"):
        ask(engine, "SELECT 1")


def test_a_slow_statement_is_cut_off_by_the_server(database_url: str, engines: ExitStack) -> None:
    engine = an_engine(engines, database_url, statement_s=0.05)

    with pytest.raises(StoreUnavailable, match="statement timeout"):
        ask(engine, "SELECT pg_sleep(60)")


def test_a_silent_server_is_given_up(database_url: str, engines: ExitStack) -> None:
    engine = an_engine(engines, database_url, statement_s=60, silence_s=0.2)

    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 s"):
        ask(engine, "SELECT pg_sleep(60)")


def test_after_silence_another_connection_is_used(database_url: str, engines: ExitStack) -> None:
    engine = an_engine(engines, database_url, statement_s=60, silence_s=0.2)
    with pytest.raises(StoreUnavailable):
        ask(engine, "SELECT 'late', pg_sleep(60)")

    assert ask(engine, "SELECT 'new'") == ("new",)


def test_a_connection_that_is_ended_while_it_works_is_told_and_replaced(database: Engine) -> None:
    with pytest.raises(StoreUnavailable, match="administrator command"):
        ask(database, "SELECT pg_terminate_backend(pg_backend_pid())")

    assert ask(database, "SELECT 1") == (1,)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        pytest.param("53100", StoreUnavailable, id="disk full"),
        pytest.param("53300", StoreUnavailable, id="too many connections"),
        pytest.param("25006", StoreUnavailable, id="read-only"),
        pytest.param("57014", StoreUnavailable, id="statement timeout"),
        pytest.param("57P01", StoreUnavailable, id="shutdown"),
        pytest.param("55P03", StoreUnavailable, id="lock timeout"),
        pytest.param("40001", StoreUnavailable, id="serialization failure"),
        pytest.param("40P01", StoreUnavailable, id="deadlock"),
        pytest.param("08006", StoreUnavailable, id="connection failure"),
        pytest.param("58030", StoreUnavailable, id="input/output error"),
        pytest.param("23505", StoreError, id="unique violation"),
        pytest.param("42501", LacksPrivilege, id="no privilege"),
        pytest.param("XX001", StoreError, id="data corrupted"),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(
    database: Engine, state: str, kind: type[StoreError]
) -> None:
    block = f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}', MESSAGE = 'so'; END $$"

    with pytest.raises(StoreError, match=state) as refusal, connected(database) as connection:
        connection.execute(text(block))

    assert type(refusal.value) is kind


def test_a_table_that_is_not_there_asks_for_the_migrations(database: Engine) -> None:
    with pytest.raises(StoreError, match=r'"nosuch" does not exist .*apply the migrations'):
        ask(database, "SELECT * FROM nosuch")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        pytest.param(
            "INSERT INTO notes (id, note) VALUES (1, :value), (1, :value)",
            "UniqueViolation notes notes_pkey (23505)",
            id="key",
        ),
        pytest.param(
            "INSERT INTO notes (note) VALUES (:value)",
            "NotNullViolation notes id (23502)",
            id="null",
        ),
        pytest.param(
            "SELECT CAST(:value AS int)", "InvalidTextRepresentation (22P02)", id="not a number"
        ),
    ],
)
def test_a_refused_value_is_not_repeated(notes: Engine, statement: str, says: str) -> None:
    with pytest.raises(StoreError) as refusal, connected(notes) as connection:
        connection.execute(text(statement), {"value": PLANTED})

    assert str(refusal.value) == f"the database refused the statement: {says}"
    assert PLANTED not in told(refusal.value)


def test_a_parameter_is_not_repeated_either(notes: Engine) -> None:
    with pytest.raises(StoreError) as refusal, connected(notes) as connection:
        connection.execute(text("SELECT nosuch(:value)"), {"value": PLANTED})

    assert PLANTED not in told(refusal.value)


def test_other_errors_pass_as_they_are(database: Engine) -> None:
    with pytest.raises(KeyError, match="not ours"), connected(database):
        raise KeyError("not ours")


def test_a_transaction_keeps_all(notes: Engine) -> None:
    with transaction(notes) as connection:
        connection.execute(INSERT, {"id": 1, "note": "a"})
        connection.execute(INSERT, {"id": 2, "note": "b"})

    assert ids(notes) == [1, 2]


def test_an_exception_undoes_a_transaction(notes: Engine) -> None:
    with pytest.raises(KeyError):
        insert_and_fail(notes)

    assert ids(notes) == []


def test_after_a_transaction_statements_are_their_own_transactions_again(
    database_url: str, engines: ExitStack
) -> None:
    engine = an_engine(engines, database_url)
    with transaction(engine):
        pass

    first, second = (ask(engine, "SELECT pg_current_xact_id()::text") for _ in range(2))

    assert first != second


def test_a_server_that_ends_each_new_connection_at_once_is_unavailable(
    engines: ExitStack, database_url: str
) -> None:
    engine, other = (an_engine(engines, database_url) for _ in range(2))
    ask(engine, "SELECT 1")

    def hang_up(connection: BoundedConnection, record: object) -> None:
        ask(other, "SELECT pg_terminate_backend(:pid)", pid=connection.info.backend_pid)
        until_s = time.monotonic() + 30
        while not has_hung_up(connection):
            assert time.monotonic() < until_s
            time.sleep(0.01)

    with connected(engine) as connection:
        driver = connection.connection.driver_connection
    assert isinstance(driver, BoundedConnection)
    hang_up(driver, None)
    event.listen(engine, "connect", hang_up)

    with pytest.raises(StoreUnavailable, match="the database was lost"):
        ask(engine, "SELECT 1")
