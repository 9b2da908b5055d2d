"""The JSON schema of a tool's arguments, and what does not fit it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from turnkeeper.infrastructure.tools.arguments import kind_of

MOST_COMPLAINTS = 5
MOST_EXPECTED_CHARACTERS = 200

_REFERENCES = ("$ref", "$dynamicRef")


class ArgumentsSchema:
    """A schema of draft 2020-12 that refers to nothing outside itself.

    Attributes:
        text: The schema as JSON.

    Raises:
        ValueError: It is no such schema; the message says where.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        # A copy, so that nobody changes it later. Some servers refuse an object without properties.
        self.text = _written({"properties": {}, **schema})
        own = json.loads(self.text)
        _check(own)
        # With a registry of its own it fetches nothing.
        self._validator = Draft202012Validator(own, registry=Registry())

    def misfits(self, arguments: dict[str, Any]) -> tuple[ValidationError, ...]:
        """What does not fit, from the outside in; see `complaint`."""
        errors = self._validator.iter_errors(arguments)
        return tuple(sorted(errors, key=lambda error: len(error.absolute_path)))


def complaint(misfits: tuple[ValidationError, ...]) -> str:
    """What is wrong, for the model: where it is, what stands there and what was expected.

    It names unknown arguments, and holds no value.
    """
    said: dict[str, None] = {}  # a set that keeps its order
    for misfit in misfits:
        said[_complaint(best_match([misfit]) or misfit)] = None
        if len(said) == MOST_COMPLAINTS:
            break
    return "; ".join(said)


def _complaint(misfit: ValidationError) -> str:
    where = _where(misfit)
    found: Any = misfit.instance
    wanted: Any = misfit.validator_value
    if misfit.validator == "required":
        return f"{where} lacks {_listed([name for name in wanted if name not in found])}"
    if misfit.validator == "additionalProperties" and wanted is False:
        schema: Any = misfit.schema
        known = list(schema.get("properties", ()))
        unknown = [name for name in found if name not in known]
        return f"{where} has no {_listed(unknown)}, only {_listed(known) or 'an empty object'}"
    rule = json.dumps({str(misfit.validator): wanted}, ensure_ascii=False)
    return f"{where} is {kind_of(found)}, expected {rule[:MOST_EXPECTED_CHARACTERS]}"


def _where(misfit: ValidationError) -> str:
    steps = misfit.absolute_path
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


# ── what a schema must be ───────────────────────────────────────────────────────────────────


def _written(schema: dict[str, Any]) -> str:
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its schema cannot be written as JSON: {error}") from error


def _check(schema: dict[str, Any]) -> None:
    kind = schema.get("type")
    if kind != "object":
        raise ValueError(f'its schema at $.type is {kind!r}: arguments are always an "object"')
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"its schema at {error.json_path}: {error.message}") from error
    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    for where, reference in _references(schema, "$"):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            raise ValueError(
                f"its schema at {where}: {reference!r} is not found within the schema,"
                " and nothing is fetched; copy it into $defs"
            ) from error


def _references(part: object, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, dict):
        for name, inner in part.items():
            if name in _REFERENCES and isinstance(inner, str):
                yield f"{where}.{name}", inner
            else:
                yield from _references(inner, f"{where}.{name}")
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from _references(inner, f"{where}[{number}]")
