"""One turn from the command line."""

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from turnkeeper.application.ports.runner import StillRunning
from turnkeeper.domain.conversation import Conversation
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.model import Model
from turnkeeper.domain.outcome import TurnStatus
from turnkeeper.domain.turn import Persona, TurnRequest, TurnResult
from turnkeeper.interfaces.cli.installation import Installation
from turnkeeper.interfaces.cli.owners import LOCAL, OWNER_ID, server_option
from turnkeeper.interfaces.cli.present import json_option

LOOK_S = 0.1
"""How often it is looked whether an interrupt has come."""

if TYPE_CHECKING:  # imported where it is used, so that help is there at once
    from turnkeeper.interfaces.turnkeeper import Turnkeeper


@click.command()
@click.argument("prompt")
@click.option("--model", "model", metavar="PROVIDER:NAME", help="In place of the server's own.")
@server_option
@click.option("--user", "user_id", type=OWNER_ID, help="Who asks; a user's own keys come first.")
@click.option("--channel", "channel_id", help="Where; a channel of its own if not said.")
@click.option("--persona", "persona_id", default="", help="Who answers; the main one if not said.")
@click.option("--system", default="", help="What the model is told first.")
@json_option
@click.pass_context
def run(context: click.Context, /, prompt: str, as_json: bool, **asked: Any) -> None:
    """Answer PROMPT; - reads it from standard input.

    Keys in the environment, such as OPENROUTER_API_KEY, stand in where the server has saved none.
    """
    turn_id = uuid4().hex
    request = TurnRequest(
        conversation=Conversation.of(_text(prompt), system=asked["system"]),
        server_id=asked["server_id"],
        # Its own, so that it does not wait for what runs in another terminal.
        channel_id=asked["channel_id"] or f"{LOCAL}-{turn_id[:12]}",
        user_id=asked["user_id"],
        llm_override=asked["model"],
        persona=Persona(id=asked["persona_id"]),
    )
    installation: Installation = context.obj
    with installation.turnkeeper(lends_environment_keys=True) as keeper:
        _check_model(keeper, request)
        result = _answered(keeper, request, turn_id, as_json)
    context.exit(0 if result.status is TurnStatus.COMPLETED else 1)


def _text(prompt: str) -> str:
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if prompt == "-" else prompt
    if not text.strip():
        raise click.UsageError("the prompt is empty")
    return text


def _check_model(keeper: "Turnkeeper", request: TurnRequest) -> None:
    """Say what is wrong before anything is asked, where that can be known."""
    named = request.llm_override
    if named is None:
        _check_server(keeper, request)
    elif ":" not in named:
        keeper.configure.find_model(named)
    else:
        try:
            provider = Model.named(named).provider
        except ValueError as error:
            raise SettingsError(str(error)) from None
        keeper.configure.find_provider(provider)


def _check_server(keeper: "Turnkeeper", request: TurnRequest) -> None:
    user_id = request.user_id
    if user_id is not None and keeper.configure.personal(user_id).text_route is not None:
        return
    if keeper.configure.server(request.server_id).primary is None:
        raise SettingsError(
            f"server {request.server_id} has no model: give --model PROVIDER:NAME,"
            " or set one with `turnkeeper model use`"
        )


def _answered(
    keeper: "Turnkeeper", request: TurnRequest, turn_id: str, as_json: bool
) -> TurnResult:
    from turnkeeper.infrastructure.console.sink import ConsoleSink
    from turnkeeper.infrastructure.memory.sink import MemorySink
    from turnkeeper.interfaces.cli.events import EventLines

    lines = EventLines()
    sink, on_event = (MemorySink(), lines.event) if as_json else (ConsoleSink(), None)
    result = _stopped_by_interrupt(
        keeper, turn_id, lambda: keeper.run(request, sink, on_event=on_event, turn_id=turn_id)
    )
    if as_json:
        lines.result(result)
    elif result.failures and result.status is not TurnStatus.COMPLETED:
        last = result.failures[-1]  # whoever runs this is the operator: the cause helps
        click.echo(f"{last.model}: {last.failure.message}")
    return result


def _stopped_by_interrupt(
    keeper: "Turnkeeper", turn_id: str, turn: Callable[[], TurnResult]
) -> TurnResult:
    """Run the turn; the first interrupt stops it as a user's stop does, the second breaks it off.

    It runs beside this thread, which hears of interrupts wherever they hit it.
    """
    from turnkeeper.infrastructure.threads import ThreadRunner

    runner = ThreadRunner()
    with _FirstInterrupt() as interrupt:
        try:
            work, is_stopped = runner.start(lambda stop: turn(), "turn"), False
            while True:
                try:
                    return work.result(LOOK_S)
                except StillRunning:
                    if interrupt.has_come and not is_stopped:
                        is_stopped = keeper.stop(turn_id)  # False as long as it has not begun
        finally:
            runner.close()


class _FirstInterrupt:
    """Takes the first interrupt of a process, or its termination, as a sign; lets later ones be.

    What the process was told to ignore, it ignores.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.has_come = False

    def __enter__(self) -> "_FirstInterrupt":
        heeded = [one for one in self.SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
        self._before = [(one, signal.signal(one, self._heard)) for one in heeded]
        return self

    def __exit__(self, *_error: object) -> None:
        for one, before in self._before:
            signal.signal(one, before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.has_come:
            signal.default_int_handler(number, frame)
        self.has_come = True
