"""The commands, and what becomes of their errors."""

import errno
import signal
import sys
from pathlib import Path
from typing import IO, Any

import click

from turnkeeper.domain.errors import TurnkeeperError
from turnkeeper.domain.redact import redact
from turnkeeper.domain.version import VERSION
from turnkeeper.interfaces.cli.channels import channel, persona
from turnkeeper.interfaces.cli.completion import PROGRAM, completion
from turnkeeper.interfaces.cli.crashtest import crashtest
from turnkeeper.interfaces.cli.dashboard import dashboard
from turnkeeper.interfaces.cli.database import db, doctor, migrate
from turnkeeper.interfaces.cli.demo import demo
from turnkeeper.interfaces.cli.discord import discord
from turnkeeper.interfaces.cli.endpoints import endpoint
from turnkeeper.interfaces.cli.fallbacks import fallback, randomizer
from turnkeeper.interfaces.cli.forget import forget
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.interactions import interactions
from turnkeeper.interfaces.cli.journal import explain
from turnkeeper.interfaces.cli.keys import key
from turnkeeper.interfaces.cli.limits import cooldown, quota
from turnkeeper.interfaces.cli.metrics import metrics
from turnkeeper.interfaces.cli.models import model
from turnkeeper.interfaces.cli.plan import plan
from turnkeeper.interfaces.cli.pool import pool
from turnkeeper.interfaces.cli.present import (
    fail,
    flush,
    is_json,
    make_printable,
    open_missing,
    unwritten,
)
from turnkeeper.interfaces.cli.prices import price
from turnkeeper.interfaces.cli.providers import provider
from turnkeeper.interfaces.cli.prune import prune
from turnkeeper.interfaces.cli.replay import replay
from turnkeeper.interfaces.cli.run import run
from turnkeeper.interfaces.cli.secrets import secrets
from turnkeeper.interfaces.cli.servers import server
from turnkeeper.interfaces.cli.sweep import sweep
from turnkeeper.interfaces.cli.tools import tool
from turnkeeper.interfaces.cli.transfer import export_settings, import_settings
from turnkeeper.interfaces.cli.turns import turns
from turnkeeper.interfaces.cli.users import user

INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Failed(click.ClickException):
    """An error that is said in one line; the command ends with 1."""

    def __init__(self, message: str, *, kind: str, as_json: bool) -> None:
        super().__init__(message)
        self._kind = kind
        self._as_json = as_json

    def show(self, file: IO[Any] | None = None) -> None:
        fail(self.message, self._kind, as_json=self._as_json)


class Program(click.Group):
    """Turns every exception of a command into one line and a number."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
            raise  # click knows what to do about these
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None
        except TurnkeeperError as error:
            kind = type(error).__name__
            raise Failed(redact(str(error)), kind=kind, as_json=is_json(ctx)) from None
        except UnicodeEncodeError:  # by half surrogates Python keeps the bytes of an argument
            text = "an argument is no text: not all of its bytes are UTF-8"
            raise Failed(text, kind="UsageError", as_json=is_json(ctx)) from None
        except Exception as error:  # noqa: BLE001 - a traceback may show what nobody may see
            kind = type(error).__name__
            text = f"a bug: {kind}: {redact(str(error))}; please report it"
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                text = unwritten(error)
            raise Failed(text, kind=kind, as_json=is_json(ctx)) from None


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where this machine keeps its data, in place of TURNKEEPER_DATA_DIR.",
)
@click.option("--database-url", help="A Postgres database, in place of TURNKEEPER_DATABASE_URL.")
@click.version_option(VERSION, prog_name=PROGRAM)
@click.pass_context
def program(context: click.Context, data_dir: Path | None, database_url: str | None) -> None:
    """Exactly one answer to a chat turn, whatever keys, models and routes fail on the way."""
    context.obj = Installation(data_dir=data_dir, database_url=database_url)


SETTINGS = (
    server,
    user,
    provider,
    key,
    model,
    fallback,
    randomizer,
    endpoint,
    quota,
    cooldown,
    channel,
    persona,
    tool,
    export_settings,
    import_settings,
)
_UPKEEP = (
    migrate,
    db,
    doctor,
    secrets,
    explain,
    turns,
    replay,
    sweep,
    prune,
    interactions,
    metrics,
    dashboard,
    discord,
    crashtest,
    completion,
    plan,
    pool,
)
for _command in (run, demo, *SETTINGS, *_UPKEEP):
    program.add_command(_command)
model.add_command(price)
user.add_command(forget)


def main() -> None:
    """Run the command that the arguments name; never returns."""
    open_missing()
    make_printable()
    # Whoever ends it by SIGTERM is to leave no server behind either.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code: str | int | None = 1
    try:
        program.main(prog_name=PROGRAM)
    except SystemExit as end:
        code = end.code
    except OSError as error:  # where --version finds no room
        fail(unwritten(error), type(error).__name__, as_json=False)
    unsaid = flush()
    if unsaid is not None and not code:
        fail(unsaid, OSError.__name__, as_json=False)
        code = 1
    sys.exit(code)
