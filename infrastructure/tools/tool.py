"""One registered tool."""

import re
from collections.abc import Callable
from typing import Any

from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.frozen import frozen
from turnkeeper.domain.tools import ToolRules
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.tools.arguments import ArgumentsError, read, unwrapped
from turnkeeper.infrastructure.tools.schema import ArgumentsSchema, complaint

Bind = Callable[[dict[str, Any], ToolUse], Callable[[], object]]
When = Callable[[TurnRequest], bool]

# What OpenAI, Anthropic and Gemini all take; Gemini alone wants no digit or dash in front.
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def always(request: TurnRequest) -> bool:
    """Offer it in each turn."""
    return True


@frozen
class Tool:
    """A tool with its schema, its rules and what runs it.

    Attributes:
        name: What the model calls it.
        bind: Makes a call of arguments that fit the schema, or raises `ArgumentsError`.
        when: Whether a turn's model may call it; where it raises, the model may not.
    """

    name: str
    description: str
    schema: ArgumentsSchema
    rules: ToolRules
    bind: Bind
    when: When

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                "its name must be 1 to 64 of a-z, A-Z, 0-9, _ and -, and begin with a letter or _"
            )

    @property
    def spec(self) -> ToolSpec:
        """How it is offered."""
        return ToolSpec(name=self.name, description=self.description, schema_json=self.schema.text)

    def is_offered(self, request: TurnRequest) -> bool:
        """Whether the turn's model may call it."""
        try:
            return bool(self.when(request))
        except Exception:  # noqa: BLE001 - what cannot tell who may use it is used by nobody
            return False

    def call(self, arguments_json: str, use: ToolUse) -> Callable[[], object]:
        """The call with the arguments that the model wrote.

        Raises:
            ArgumentsError: They are not JSON or do not fit.
        """
        try:
            return self.bind(self._fitting(read(arguments_json)), use)
        except RecursionError as error:
            raise ArgumentsError("the arguments are nested too deeply") from error

    def _fitting(self, arguments: dict[str, Any]) -> dict[str, Any]:
        misfits = self.schema.misfits(arguments)
        if not misfits:
            return arguments
        # Some models write an array or an object within the arguments as a text.
        names = frozenset(str(one.absolute_path[0]) for one in misfits if one.absolute_path)
        again = unwrapped(arguments, names)
        if again == arguments or self.schema.misfits(again):
            raise ArgumentsError(complaint(misfits))
        return again
