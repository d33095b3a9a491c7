"""Runs an answer and makes its functions available to a checker in another sandbox.

Requests and replies are JSON, one per line. Only data leaves this process: values of plain types are sent in full,
and any other object stays here and is referred to by a number. The checker's comparisons therefore never run code
from the answer.
"""

import builtins
import json
import os
import sys
import types

MAX_VALUES = 200_000
DEEPEST = 200
LONGEST_ITERATION = 100_000

requests = os.fdopen(os.dup(0), "rb")
replies = os.fdopen(os.dup(1), "wb")
nothing = os.open(os.devnull, os.O_RDWR)
for descriptor in (0, 1, 2):
    os.dup2(nothing, descriptor)

# Keep references, because the answer can replace the functions in these modules.
dumps, loads = json.dumps, json.loads

# Objects that have been referred to, and their indices by identity. They are kept alive, so identities are never
# reused.
objects = []
places = {}
answer = types.ModuleType("answer")


class TooMuch(Exception):
    pass


iterators = (
    types.GeneratorType,
    range,
    map,
    filter,
    zip,
    enumerate,
    reversed,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(iter([])),
    type(iter(())),
    type(iter("")),
    type(iter(range(0))),
    type(iter(set())),
    type(iter({})),
)


def encode(value, depth=0, count=None):
    count = [0] if count is None else count
    count[0] += 1
    if depth > DEEPEST or count[0] > MAX_VALUES:
        raise TooMuch("the value is too large")

    def items(values):
        return [encode(one, depth + 1, count) for one in values]

    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        number = int.__int__(value)
        return number if -(2**53) < number < 2**53 else {"t": "int", "v": hex(number)}
    if isinstance(value, float):
        return {"t": "float", "v": float.__repr__(float.__float__(value))}
    if isinstance(value, complex):
        return {"t": "complex", "v": [repr(value.real), repr(value.imag)]}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bytes, bytearray)):
        kind = "bytes" if isinstance(value, bytes) else "bytearray"
        return {"t": kind, "v": bytes(value).hex()}
    if isinstance(value, list):
        return {"t": "list", "v": items(list.__iter__(value))}
    if isinstance(value, tuple):
        return {"t": "tuple", "v": items(tuple.__iter__(value))}
    if isinstance(value, set):
        return {"t": "set", "v": items(set.__iter__(value))}
    if isinstance(value, frozenset):
        return {"t": "frozenset", "v": items(frozenset.__iter__(value))}
    if isinstance(value, dict):
        return {"t": "dict", "v": [items(pair) for pair in dict.items(value)]}
    if type(value).__module__ == "collections" and type(value).__name__ == "deque":
        return {"t": "deque", "v": items(value)}
    if isinstance(value, iterators):
        taken = []
        for one in value:
            taken.append(one)
            if len(taken) > LONGEST_ITERATION:
                raise TooMuch("the iteration does not terminate")
        return {"t": "range" if isinstance(value, range) else "iterator", "v": items(taken)}
    if type(value) is type and getattr(builtins, value.__name__, None) is value:
        return {"t": "builtin", "v": value.__name__}
    if id(value) not in places:
        places[id(value)] = len(objects)
        objects.append(value)
    return {"t": "object", "v": places[id(value)]}


def decode(value):
    if not isinstance(value, dict):
        return value
    kind, inner = value["t"], value["v"]
    if kind == "int":
        return int(inner, 16)
    if kind == "float":
        return float(inner)
    if kind == "complex":
        return complex(float(inner[0]), float(inner[1]))
    if kind == "bytes":
        return bytes.fromhex(inner)
    if kind == "bytearray":
        return bytearray.fromhex(inner)
    if kind == "object":
        return objects[inner]
    if kind == "builtin":
        return getattr(builtins, inner)
    values = [[decode(one) for one in pair] for pair in inner] if kind == "dict" else [decode(one) for one in inner]
    if kind == "deque":
        from collections import deque

        return deque(values)
    if kind == "iterator":
        return iter(values)
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "dict": dict, "range": list}[kind](values)


def exported(value):
    """Describes an error class, so the checker can recreate it and tests can expect it."""
    if isinstance(value, type) and issubclass(value, Exception):
        base = next(one.__name__ for one in value.__mro__ if one.__module__ == "builtins")
        return {"t": "error", "v": [value.__name__, base]}
    return encode(value)


def load():
    with open("answer.py", encoding="utf-8") as file:
        code = file.read()
    sys.modules["answer"] = answer
    if os.path.exists("given.py"):
        import given_names

        given_names.give(code, answer.__dict__)
    given = dict(answer.__dict__)
    exec(compile(code, "answer.py", "exec"), answer.__dict__)
    names = {}
    for name, value in list(answer.__dict__.items()):
        if name.startswith("__") or isinstance(value, types.ModuleType) or value is given.get(name, names):
            continue
        try:
            names[name] = exported(value)
        except BaseException:
            continue
    return {"names": names}


def target_of(request):
    return objects[request["target"]] if "target" in request else answer.__dict__[request["name"]]


def handle(request):
    operation = request["op"]
    if operation == "load":
        return load()
    if operation == "get":
        return {"value": encode(getattr(target_of(request), request["attribute"]))}
    if operation == "set":
        setattr(target_of(request), request["attribute"], decode(request["value"]))
        return {"value": None}
    arguments = [decode(one) for one in request["args"]]
    keywords = {name: decode(one) for name, one in request["kwargs"].items()}
    value = target_of(request)(*arguments, **keywords)
    if not isinstance(value, types.CoroutineType):
        return {"value": encode(value)}
    import asyncio

    try:
        return {"later": True, "value": encode(asyncio.run(value))}
    except BaseException as error:
        return {"later": True, **error_reply(error)}


def error_reply(error):
    try:
        return {"error": [type(error).__name__, str(error)[:500]]}
    except BaseException:
        return {"error": ["Exception", ""]}


for line in requests:
    try:
        reply = handle(loads(line))
    except BaseException as error:
        reply = error_reply(error)
    replies.write(dumps(reply).encode() + b"\n")
    replies.flush()
