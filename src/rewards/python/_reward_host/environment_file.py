"""Finds the environment in a file: a class with TRL's contract for `environment_factory`."""

import ast
import inspect

from . import frames
from .module_file import LoadFault, execute, signature_end
from .tool_schema import SchemaFault, schema_of

# Methods that have a special meaning in TRL's contract. Every other public method is a tool.
_OWN = ("reset", "get_reward")


def load(path, passing=()):
    """Returns the file's Environment. Raises LoadFault."""
    module, tree, source = execute(path, "environment", passing)
    found = [
        value
        for name, value in module.__dict__.items()
        if isinstance(value, type)
        and not name.startswith("_")
        and value.__module__ == module.__name__
        and callable(getattr(value, "reset", None))
    ]
    # A base class of other classes in the file is not an environment itself.
    classes = [one for one in dict.fromkeys(found) if not any(one in other.__mro__[1:] for other in found)]
    if len(classes) != 1:
        names = ", ".join(one.__name__ for one in classes)
        raise LoadFault(
            reason="invalid",
            message=f"The file has several environments: {names}"
            if classes
            else "The file has no public class with a reset method, so it has no environment",
            action="Keep one per file, and start the names of helper classes with an underscore."
            if classes
            else "Define a class: `class Guess:` with `def reset(self, **row) -> str | None:`.",
            file=path,
            line=_class_line(tree, classes[1].__name__) if classes else 1,
        )
    return Environment(path, classes[0], tree, source, passing)


def _class_line(tree, name):
    return next((node.lineno for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), 1)


def tools_of(instance):
    """Returns an instance's tools by name, found the way TRL's trainer finds them (`GRPOTrainer.__init__` in 1.13)."""
    members = inspect.getmembers(instance, predicate=inspect.ismethod)
    return {tool.__name__: tool for name, tool in members if name not in _OWN and not name.startswith("_")}


class Environment:
    """The environment's class, one instance of it, and methods that inspect them."""

    def __init__(self, path, kind, tree, source, passing):
        self.path = path
        self.kind = kind
        self._tree = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__), None)
        self._source = source
        self.probe = self._first(passing)

    def _first(self, passing):
        try:
            return self.kind()
        except passing:
            raise
        except BaseException as error:
            described = frames.describe(error, self.path)
            described.setdefault("line", 1 if self._tree is None else self._tree.lineno)
            described["message"] = f"{self.kind.__name__}() failed: {described['message']}"
            action = "Make it work without arguments: trainers create environments with no arguments, then call reset."
            raise LoadFault(reason="invalid", action=action, file=self.path, **described)

    def create(self):
        """Returns a new instance. As in TRL, the one that was inspected is used first."""
        probe, self.probe = self.probe, None
        return self.kind() if probe is None else probe

    def tools_of(self, instance):
        return tools_of(instance)

    def describe(self):
        reset = getattr(self.probe, "reset")
        parameters = self._reset_parameters(reset)
        value_range = getattr(self.kind, "reward_range", None)
        described = {
            "name": self.kind.__name__,
            "tools": [self._describe_tool(name, tool) for name, tool in tools_of(self.probe).items()],
            "resetParameters": [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)],
            "resetTakesAll": any(p.kind is p.VAR_KEYWORD for p in parameters),
            "asyncReset": inspect.iscoroutinefunction(reset),
            "ownsReward": inspect.ismethod(getattr(self.probe, "get_reward", None)),
            "reportsDone": isinstance(getattr(self.probe, "done", None), bool) or self._mentions_done(),
            "location": {"line": 1, "endLine": 1} if self._tree is None else self._class_location(),
            "places": {name: place for name in _OWN if (place := self._place(name)) is not None},
        }
        if _is_range(value_range):
            described["rewardRange"] = [float(value_range[0]), float(value_range[1])]
        return described

    def _reset_parameters(self, reset):
        try:
            return list(inspect.signature(reset).parameters.values())
        except (TypeError, ValueError):
            return []

    def _describe_tool(self, name, tool):
        described = {"name": name, "isAsync": inspect.iscoroutinefunction(tool), "location": self._place(name)}
        try:
            return {**described, "schema": schema_of(tool)["function"], "fault": None}
        except SchemaFault as fault:
            return {**described, "schema": None, "fault": {"kind": fault.kind, "message": str(fault)}}

    def _mentions_done(self):
        """Whether a method assigns `self.done`."""
        if self._tree is None:
            return False
        return any(
            isinstance(node, ast.Attribute) and node.attr == "done" and isinstance(node.ctx, ast.Store)
            for node in ast.walk(self._tree)
        )

    def _class_location(self):
        return {"line": self._tree.lineno, "endLine": self._tree.lineno}

    def _place(self, name):
        """Returns the first and last line of a method's signature, or None if the class inherits it."""
        for node in [] if self._tree is None else self._tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                return {"line": node.lineno, "endLine": signature_end(self._source, node)}
        return None


def _is_range(value):
    return (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(end, (int, float)) and not isinstance(end, bool) and end == end for end in value)
        and value[0] <= value[1]
        and all(abs(end) < 1e300 for end in value)
    )
