"""Reduces the JSON schema of a foreign tool to what transformers' `get_json_schema` (5.18) can produce from a
signature, because that is how trainers describe tools to a model. Details that are lost (limits, patterns, nested
fields) are added to the description as text.
"""

import json

from .tool_schema import parse_docstring

_BASIC = ("integer", "number", "string", "boolean")
# JSON schema keywords whose meaning is kept as text.
_LIMITS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "greater than",
    "exclusiveMaximum": "less than",
    "minLength": "min length",
    "maxLength": "max length",
    "pattern": "pattern",
    "format": "format",
    "default": "default",
}
_MAX_TEXT = 2000


def plain_tool(name, description, schema, without=()):
    """Returns the plain schema of a tool: {name, description, parameters}. `without`: arguments that are not shown."""
    if not isinstance(schema, dict):
        schema = {}
    definitions = {**_dict(schema.get("definitions")), **_dict(schema.get("$defs"))}
    description = description if isinstance(description, str) else ""
    # Many libraries pass on a whole docstring, whose sections describe the arguments.
    text, described, _ = parse_docstring(description.strip()) if description.strip() else ("", {}, None)
    properties = {
        str(key): _argument(str(key), _dict(value), definitions, described.get(str(key)))
        for key, value in _dict(schema.get("properties")).items()
        if key not in without and str(key).isidentifier()
    }
    parameters = {"type": "object", "properties": properties}
    required = [key for key in _list(schema.get("required")) if key in properties]
    if required:
        parameters["required"] = required
    return {"name": name, "description": _line(text) or name, "parameters": parameters}


def _argument(name, schema, definitions, described):
    merged = _resolved(schema, definitions)
    plain = _type(merged, definitions, 0)
    words = [_line(str(merged.get("description") or described or merged.get("title") or name)).rstrip(".")]
    words += [
        f"{phrase} {_line(merged[key] if isinstance(merged[key], str) else json.dumps(merged[key]))}"
        for key, phrase in _LIMITS.items()
        if merged.get(key) is not None and isinstance(merged[key], (str, int, float, bool))
    ]
    if plain.get("type") == "object" and "properties" in merged:
        words.append("fields " + ", ".join(str(key) for key in _dict(merged["properties"])))
    return {**plain, "description": "; ".join(words)}


def _type(schema, definitions, depth):
    """Returns the schema of a type without a description."""
    schema = _resolved(schema, definitions)
    options = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    if options:
        return _union([_type(_dict(option), definitions, depth) for option in options])
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    values = _list(schema.get("enum"))
    if values and all(isinstance(value, str) for value in values):
        return {"type": "string", "enum": list(dict.fromkeys(values))}
    if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return {"type": "integer", "enum": list(dict.fromkeys(values))}
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([_type({**schema, "type": one}, definitions, depth) for one in kind])
    if kind in _BASIC or kind == "null":
        return {"type": kind}
    if kind == "array":
        items = _type(_dict(schema.get("items")), definitions, depth + 1) if depth < 4 else {}
        return {"type": "array", "items": items} if items else {"type": "array"}
    if kind == "object" or "properties" in schema:
        return {"type": "object"}
    return {}


def _union(options):
    """`None` makes a type nullable. Any other union is left unconstrained."""
    rest = [option for option in options if option.get("type") != "null"]
    unique = [option for index, option in enumerate(rest) if option not in rest[:index]]
    if len(unique) != 1:
        return {}
    only = unique[0]
    return {**only, "nullable": True} if len(rest) < len(options) and only else only


def _resolved(schema, definitions):
    """Resolves references and single-schema `allOf` lists, up to a few levels deep."""
    for _ in range(8):
        reference = schema.get("$ref")
        parts = _list(schema.get("allOf"))
        if isinstance(reference, str):
            target = _dict(definitions.get(reference.rpartition("/")[2]))
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        elif len(parts) == 1:
            schema = {**_dict(parts[0]), **{key: value for key, value in schema.items() if key != "allOf"}}
        else:
            break
    return schema


def _line(text):
    """Returns one line, without headings that would start a docstring section."""
    line = " ".join(str(text).split())[:_MAX_TEXT]
    for heading in ("Args:", "Returns:", "Raises:"):
        line = line.replace(heading, heading[:-1])
    return line


def _dict(value):
    return value if isinstance(value, dict) else {}


def _list(value):
    return value if isinstance(value, list) else []
