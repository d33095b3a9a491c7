"""A stage's `trainer` block: TRL options, validated against the installed TRL."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import json
import types
import typing
from importlib.resources import files
from typing import Any

from ..failure import Failure

ELSEWHERE: dict[str, str] = json.loads((files(__package__) / "elsewhere.json").read_text("utf-8"))
"""TRL options that the engine sets itself, each with an explanation of where the value comes from."""


def place_of(index: int, stage: dict[str, Any]) -> str:
    """Returns a display name for a stage in messages."""
    return f'Stage {index + 1} ("{stage["type"]}")'


def trainer_options(
    config_class: type, given: dict[str, Any] | None, stage: dict[str, Any], where: str
) -> dict[str, Any]:
    """
    Converts the block to keyword arguments for `config_class`. `stage`: the stage's settings, which the block must
    not repeat; `where`: display name for messages. Raises `invalid` for unknown names, wrong types, and options that
    are set elsewhere in the recipe.
    """
    known = {field.name: field for field in dataclasses.fields(config_class) if field.init}
    hints = typing.get_type_hints(config_class)
    options: dict[str, Any] = {}
    for name, value in (given or {}).items():
        if name in stage and name != "trainer":
            raise _fault(where, name, "is a stage-level setting", 'Move it out of "trainer".')
        if name in ELSEWHERE:
            raise _fault(where, name, f"is controlled elsewhere: {ELSEWHERE[name]}", 'Remove it from "trainer".')
        if name not in known:
            near = difflib.get_close_matches(name, known.keys() - ELSEWHERE.keys(), n=1)
            raise _fault(
                where,
                name,
                f"is not an option of {config_class.__name__} in the installed TRL",
                f'Did you mean "{near[0]}"?' if near else "See the TRL documentation, or update TRL.",
            )
        hint = hints.get(name, Any)
        if not fits(value, hint):
            raise _fault(where, name, f"must be {words_of(hint)}, not {_shown(value)}", "Change the value.")
        options[name] = value
    return options


def settings_by_name(config_class: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the stage settings that `config_class` supports under the same names."""
    known = {field.name for field in dataclasses.fields(config_class) if field.init}
    return {name: value for name, value in settings.items() if name in known}


def rejection(error: Exception, where: str) -> Failure:
    """Returns a one-sentence Failure for an error with which TRL rejects options."""
    text = " ".join(str(error).split()).rstrip(".")
    return Failure(
        "invalid", f"{where}: TRL rejects these options: {text[:400]}.", 'Change the stage or its "trainer" block.'
    )


def make_config(config_class: type, options: dict[str, Any], where: str) -> Any:
    """Creates the configuration. If TRL rejects the options, raises a one-sentence Failure."""
    try:
        return config_class(**options)
    except Failure:
        raise
    except (ValueError, TypeError, NotImplementedError, ImportError) as error:
        raise rejection(error, where) from error


def _fault(where: str, name: str, what: str, action: str) -> Failure:
    return Failure("invalid", f'{where}: "{name}" of "trainer" {what}.', action)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def fits(value: Any, hint: Any) -> bool:
    """
    Returns whether a JSON value matches one of TRL's type hints. Unsupported hints match any value.
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return value in parts
    if hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is str:
        return isinstance(value, str)
    if hint is list or origin is list:
        return isinstance(value, list) and all(fits(held, parts[0]) for held in value if parts)
    if hint is dict or origin is dict:
        return isinstance(value, dict)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return value in [member.value for member in hint]
    return True


def words_of(hint: Any) -> str:
    """Describes a type hint for users."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(words_of(part) for part in parts))
    if origin is typing.Literal:
        return " or ".join(repr(part) for part in parts)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return " or ".join(repr(member.value) for member in hint)
    names = {bool: "true or false", int: "an integer", float: "a number", str: "a string", type(None): "null"}
    if hint in names:
        return names[hint]
    if hint is list or origin is list:
        return f"a list (each item {words_of(parts[0])})" if parts else "a list"
    if hint is dict or origin is dict:
        return "an object"
    return str(hint)
