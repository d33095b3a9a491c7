"""Summarizes the state of an environment as JSON, for users stepping through an episode and for checks that compare
states. The size of the summary is bounded, no matter what the environment stores.
"""

import collections
import hashlib
import itertools
import random

_MAX_TEXT = 400
_MAX_ITEMS = 64
_MAX_DEPTH = 4
_MAX_NODES = 2000


def summarize(environment):
    """Returns {attribute: value}. Never raises."""
    try:
        attributes = vars(environment)
    except TypeError:
        return {}
    return _Summary().fields(attributes, 0)


def summarize_mapping(values):
    """Like `summarize`, for values that are not attributes. Never raises."""
    return _Summary().fields(values, 0)


class _Summary:
    def __init__(self):
        self._nodes = 0

    def fields(self, mapping, depth):
        summary = {}
        for key, value in list(itertools.islice(mapping.items(), _MAX_ITEMS)):
            try:
                summary[str(key)[:80]] = self._value(value, depth)
            except Exception as error:  # User code can fail in __eq__, __hash__, __iter__ and so on.
                summary[str(type(key).__name__)] = f"({type(error).__name__})"
        if len(mapping) > _MAX_ITEMS:
            summary["..."] = f"{len(mapping) - _MAX_ITEMS} more"
        return summary

    def _value(self, value, depth):
        self._nodes += 1
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if abs(value) < 1 << 53 else _cut(str(value)) if value.bit_length() < 4096 else "(large integer)"
        if kind is float:
            return value if value - value == 0.0 else str(value)
        if kind is str:
            return _cut(value)
        if isinstance(value, random.Random):
            return "Random " + hashlib.sha256(repr(value.getstate()).encode()).hexdigest()[:12]
        if depth >= _MAX_DEPTH or self._nodes > _MAX_NODES:
            return f"({kind.__name__})"
        if isinstance(value, (list, tuple, collections.deque)):
            return self._items(value, len(value), depth)
        if isinstance(value, (set, frozenset)):
            # The order of a set is not part of its state, and sorting a large one takes too long.
            return self._items(sorted(value, key=repr), len(value), depth) if len(value) <= _MAX_ITEMS else _counted(value)
        if isinstance(value, dict):
            return self.fields(value, depth + 1)
        if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
            return {"type": kind.__name__, **self.fields(vars(value), depth + 1)}
        return f"({kind.__name__})"

    def _items(self, values, count, depth):
        shown = [self._value(value, depth + 1) for value in itertools.islice(values, _MAX_ITEMS)]
        return shown if count <= _MAX_ITEMS else [*shown, f"{count - _MAX_ITEMS} more"]


def _counted(values):
    return f"({type(values).__name__} of {len(values)})"


def _cut(text):
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
