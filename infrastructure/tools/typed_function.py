"""A function whose parameters say which arguments a tool takes."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from turnkeeper.application.ports.tools import ToolUse
from turnkeeper.infrastructure.tools.arguments import ArgumentsError
from turnkeeper.infrastructure.tools.docstring import Docstring

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_DATA = ("const", "default", "enum", "examples")


class TypedFunction:
    """Makes a schema of a function's parameters, and calls of arguments that fit it.

    A parameter that is a `ToolUse` is given the use, and is not in the schema.

    Attributes:
        schema: The JSON schema of the arguments.

    Raises:
        ValueError: The function cannot be called so, or a parameter's type has no schema.
    """

    def __init__(self, function: Callable[..., object], described: Mapping[str, str]) -> None:
        _check_ends_by_returning(function)
        self._function = function
        parameters = _parameters(function)
        self._for_use = [one.name for one in parameters if one.annotation is ToolUse]
        taken = [one for one in parameters if one.annotation is not ToolUse]
        # Under names of our own, since a model's fields may not be called "json" or "_id".
        self._names = {f"argument_{number}": one.name for number, one in enumerate(taken)}
        self._model = _model(taken, described)
        self.schema = _schema(self._model)

    def bind(self, arguments: dict[str, Any], use: ToolUse) -> Callable[[], object]:
        """The call with these arguments as the function's own types.

        Raises:
            ArgumentsError: One is not what its type takes.
        """
        try:
            read = self._model.model_validate(arguments)
        except ValidationError as error:
            raise ArgumentsError(_complaint(error)) from error
        # One that is not given is left to the function's own default.
        given = {self._names[field]: getattr(read, field) for field in read.model_fields_set}
        return partial(self._function, **given, **dict.fromkeys(self._for_use, use))


def described_by(function: Callable[..., object]) -> Docstring:
    """What the function's docstring says; nothing where it has none of its own."""
    return Docstring.of(function.__doc__ if inspect.isroutine(function) else None)


def _check_ends_by_returning(function: Callable[..., object]) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ValueError("it is async, and tools are called in a thread: pass a plain function")
    if inspect.isgeneratorfunction(function):
        raise ValueError("it is a generator: pass a function that returns its result")


def _parameters(function: Callable[..., object]) -> list[Parameter]:
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except Exception as error:  # an annotation is code, which may raise anything
        raise ValueError(f"its signature cannot be read: {error}") from error
    for one in parameters:
        if one.kind not in _NAMED:
            raise ValueError(f"its parameter {str(one)!r} cannot be given by name: name each one")
        if one.annotation is Parameter.empty:
            raise ValueError(f"its parameter {one.name!r} has no type: annotate it")
    return parameters


def _model(parameters: list[Parameter], described: Mapping[str, str]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        f"argument_{number}": (
            _described(one.annotation, described.get(one.name)),
            Field(alias=one.name, default=... if one.default is Parameter.empty else one.default),
        )
        for number, one in enumerate(parameters)
    }
    config = ConfigDict(extra="forbid", protected_namespaces=())
    try:
        return create_model("Arguments", __config__=config, **fields)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError) as error:
        raise ValueError(f"a parameter's type has no schema: {error}") from error


def _described(annotation: Any, text: str | None) -> Any:
    """With that description, unless the type brings one of its own."""
    if not text:
        return annotation
    kind, *more = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return Annotated[(kind, Field(description=text), *more)]


def _complaint(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, ('$', *one['loc'])))}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )


# ── the schema ──────────────────────────────────────────────────────────────────────────────


class _Schema(GenerateJsonSchema):
    ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # type: ignore[assignment]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_Schema)
    except PydanticUserError as error:
        raise ValueError(f"a parameter's type has no schema: {error}") from error
    untitled: dict[str, Any] = _untitled(schema)
    return untitled


def _untitled(part: Any) -> Any:
    """Without the titles, which repeat the names and cost tokens in each call."""
    if isinstance(part, list):
        return [_untitled(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        name: inner if name in _DATA else _untitled(inner)
        for name, inner in part.items()
        if name != "title" or not isinstance(inner, str)
    }
