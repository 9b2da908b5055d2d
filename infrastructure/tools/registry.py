"""The tools by their names."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar, overload

from turnkeeper.application.ports.runner import Cancelled
from turnkeeper.application.ports.tools import Tools, ToolUse
from turnkeeper.domain.conversation import ToolSpec
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.tools import ToolResult, ToolRules
from turnkeeper.domain.turn import TurnRequest
from turnkeeper.infrastructure.tools.arguments import ArgumentsError
from turnkeeper.infrastructure.tools.results import failed, raised, returned
from turnkeeper.infrastructure.tools.schema import ArgumentsSchema
from turnkeeper.infrastructure.tools.tool import Tool, When, always
from turnkeeper.infrastructure.tools.typed_function import TypedFunction, described_by

Function = TypeVar("Function", bound=Callable[..., object])
Given = Callable[[dict[str, Any], ToolUse], object]


class ToolRegistry(Tools):
    """Tools that a host registers: functions with typed parameters, or with a schema.

    A function returns what the model is told: a `ToolDone`, a `ToolFailed`, None, or any data that
    can be written as JSON. One may be registered while turns run; a turn sees it whole or not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the replacing of the one below
        self._tools: Mapping[str, Tool] = MappingProxyType({})

    # ── registering ─────────────────────────────────────────────────────────────────────────

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        rules: ToolRules = ToolRules(),
        when: When = always,
    ) -> Callable[[Function], Function]: ...

    def tool(self, *function: Any, **how: Any) -> Any:
        """`add` as a decorator, with or without arguments."""
        return self._added(*function, **how) if function else partial(self._added, **how)

    def add(
        self,
        function: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        rules: ToolRules = ToolRules(),
        when: When = always,
    ) -> None:
        """Register a function whose parameters are the tool's arguments.

        Each is annotated with what pydantic knows; one that is a `ToolUse` is given the use.

        Args:
            name: None is the function's own.
            description: None is what its docstring says.
            when: Whether a turn's model may call it; where it raises, the model may not.

        Raises:
            SettingsError: The name is taken or bad, or no schema can be made.
        """
        told = described_by(function)

        def made(name: str) -> Tool:
            typed = TypedFunction(function, told.arguments)
            return Tool(
                name=name,
                description=told.description if description is None else description,
                schema=ArgumentsSchema(typed.schema),
                rules=rules,
                bind=typed.bind,
                when=when,
            )

        self._put(getattr(function, "__name__", "") if name is None else name, made)

    def add_schema(
        self,
        name: str,
        schema: Mapping[str, Any],
        function: Given,
        *,
        description: str = "",
        rules: ToolRules = ToolRules(),
        when: When = always,
    ) -> None:
        """Register a function of the arguments and the use, with the arguments' JSON schema.

        Args:
            schema: Of draft 2020-12, of an object, without references to the outside.
            when: Whether a turn's model may call it; where it raises, the model may not.

        Raises:
            SettingsError: The name is taken or bad, or the schema is.
        """
        self._put(
            name,
            lambda name: Tool(
                name=name,
                description=description,
                schema=ArgumentsSchema(schema),
                rules=rules,
                bind=lambda arguments, use: partial(function, arguments, use),
                when=when,
            ),
        )

    def _added(self, function: Function, **how: Any) -> Function:
        self.add(function, **how)
        return function

    def _put(self, name: str, made: Callable[[str], Tool]) -> None:
        try:
            tool = made(name)
        except ValueError as error:
            raise SettingsError(f"tool {name!r} is not registered: {error}") from error
        with self._lock:
            if name in self._tools:
                raise SettingsError(f"tool {name!r} is registered already: choose another name")
            # A new one each time, so that whoever reads has one that stays as it is.
            self._tools = MappingProxyType({**self._tools, name: tool})

    # ── the port ────────────────────────────────────────────────────────────────────────────

    def offered(self, request: TurnRequest) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values() if tool.is_offered(request))

    def rules(self, name: str) -> ToolRules:
        tool = self._tools.get(name)
        return tool.rules if tool else ToolRules()

    def run(self, name: str, arguments_json: str, use: ToolUse) -> ToolResult:
        tool = self._tools.get(name)
        if tool is None or not tool.is_offered(use.request):
            known = ", ".join(spec.name for spec in self.offered(use.request)) or "none"
            return failed(f"there is no tool {name!r}; there are: {known}", ran=False)
        try:
            call = tool.call(arguments_json, use)
        except ArgumentsError as error:
            return failed(f"it was not run: {error}", ran=False)
        except Exception as error:  # noqa: BLE001 - a type's own code checks arguments too
            return failed(
                f"it was not run, its arguments cannot be checked: {raised(error).message}",
                ran=False,
            )
        use.stop.check()
        return _result(call)


def _result(call: Callable[[], object]) -> ToolResult:
    try:
        return returned(call())
    except Cancelled:
        raise
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():  # a person's, not the tool's
            raise
        return raised(error)
    except BaseException as error:  # noqa: BLE001 - a tool's exit must not take the turn with it
        return raised(error)
