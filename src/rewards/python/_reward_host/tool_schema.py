"""Derives a tool's JSON schema from its signature and docstring. The result equals that of
`transformers.utils.get_json_schema` (5.18), which trainers use to describe tools to the model, but this module needs
only the standard library. test/trainer/python/test_tool_schemas.py compares the two.
"""

import inspect
import json
import re
import types
import typing

_BASIC = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    typing.Any: {},
}
# Types from other libraries, by module and name, so that neither has to be imported.
_MEDIA = {("PIL.Image", "Image"): {"type": "image"}, ("torch", "Tensor"): {"type": "audio"}}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_LITERALS = (int, float, str, bool, type(None))
_SECTIONS = ("Args:", "Returns:", "Raises:")


class SchemaFault(Exception):
    """Raised if a tool cannot be described. `kind` is "docstring" or "types"."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def schema_of(tool):
    """Returns {"type": "function", "function": {name, description, parameters, return?}}. Raises SchemaFault."""
    name = getattr(tool, "__name__", "operation")
    doc = inspect.getdoc(tool)
    if not doc:
        raise SchemaFault("docstring", f"{name} has no docstring, so the model cannot know what it does")
    description, arguments, returned = parse_docstring(doc.strip())
    parameters, result = _parameters(tool, name)
    if result is not None and returned is not None:
        result["description"] = returned
    for argument, schema in parameters["properties"].items():
        if argument not in arguments:
            raise SchemaFault("docstring", f"{name} does not describe its argument {argument} in the docstring")
        schema.update(_described(arguments[argument], name, argument))
    function = {"name": name, "description": description, "parameters": parameters}
    if result is not None:
        function["return"] = result
    return {"type": "function", "function": function}


def parse_docstring(doc):
    """Splits a Google-style docstring. Returns (description, {argument: description}, description of the result or
    None).
    """
    ends = [place for place in (doc.find(section) for section in _SECTIONS) if place >= 0]
    description = doc[: min(ends, default=len(doc))].strip()
    body = _section(doc, "Args:", _SECTIONS[1:])
    return description, {} if body is None else _arguments(body), _section(doc, "Returns:", _SECTIONS[2:])


def _section(doc, heading, following):
    """Returns the text below a heading on a separate line, up to the next section, or None."""
    lines = doc.split("\n")
    for number, line in enumerate(lines[1:-1], 1):
        if line.lstrip() == heading:
            text = "\n".join(lines[number + 1 :])
            ends = [place for place in (text.find(section) for section in following) if place >= 0]
            return text[: min(ends, default=len(text))].strip()
    return None


def _arguments(body):
    found = {}
    current = None
    for line in body.split("\n"):
        if not line.strip():
            continue
        head = re.match(r"\s*(\w+):", line)
        # A description can start on the line after the name.
        if head and (current is None or any(current)):
            current = found[head[1]] = [line[head.end() :].strip()]
        elif current is not None:
            current.append(line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


def _described(text, name, argument):
    """Returns the description of an argument and, if it ends with `(choices: [...])`, the choices."""
    choices = re.search(r"\(choices:\s*(.*?)\)\s*$", text, flags=re.IGNORECASE)
    if choices is None:
        return {"description": text}
    try:
        values = json.loads(choices[1])
    except ValueError:
        raise SchemaFault("docstring", f"{name}: the choices for {argument} are not a JSON list")
    if not isinstance(values, list):
        raise SchemaFault("docstring", f"{name}: the choices for {argument} are not a JSON list")
    values = [value.strip() if isinstance(value, str) else value for value in values]
    return {"enum": values, "description": text[: choices.start()].strip()}


def _parameters(tool, name):
    """Returns (schema of the arguments, schema of the result or None)."""
    required = []
    for parameter in inspect.signature(tool).parameters.values():
        if parameter.annotation is parameter.empty:
            raise SchemaFault("types", f"{name} does not declare the type of its argument {parameter.name}")
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    try:
        hints = typing.get_type_hints(tool)
    except Exception as error:
        raise SchemaFault("types", f"{name} has a type that cannot be resolved ({error})")
    properties = {key: _of_hint(hint, name, key) for key, hint in hints.items()}
    result = properties.pop("return", None)
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema, result


def _of_hint(hint, name, argument):
    def of(inner):
        return _of_hint(inner, name, argument)

    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return _of_class(hint)
    if origin in _UNIONS:
        return _of_union(inner, of)
    if origin is typing.Literal:
        return _of_literal(inner, name, argument)
    if origin is list:
        return {"type": "array", "items": of(inner[0])} if inner else {"type": "array"}
    if origin is tuple and len(inner) != 1 and ... not in inner:
        return {"type": "array", "prefixItems": [of(one) for one in inner]} if inner else {"type": "array"}
    if origin is dict:
        return {"type": "object", "additionalProperties": of(inner[1])} if len(inner) == 2 else {"type": "object"}
    what = "the result" if argument == "return" else f"its argument {argument}"
    raise SchemaFault("types", f"{name}: the type of {what}, {str(hint)[:80]}, has no JSON schema; use a list or a basic type")


def _of_class(hint):
    try:
        if hint in _BASIC:
            return dict(_BASIC[hint])
    except TypeError:  # not hashable
        pass
    place = (getattr(hint, "__module__", None), getattr(hint, "__name__", None))
    return dict(_MEDIA.get(place, {"type": "object"}))


def _of_union(members, of):
    schemas = [of(member) for member in members if member is not type(None)]
    if len(schemas) == 1:
        schema = schemas[0]
    elif all(one.keys() == {"type"} and isinstance(one["type"], str) for one in schemas):
        names = sorted({one["type"] for one in schemas})
        schema = {"type": names[0] if len(names) == 1 else names}
    else:
        schema = {"anyOf": schemas}
    if type(None) in members:
        schema["nullable"] = True
    return schema


def _of_literal(values, name, argument):
    names = []
    for value in values:
        if type(value) not in _LITERALS:
            raise SchemaFault("types", f"{name}: the choices for {argument} must be numbers, strings, booleans or None")
        kind = _BASIC[type(value)]["type"]
        if kind not in names:
            names.append(kind)
    return {"type": names[0] if len(names) == 1 else names, "enum": list(values)}
