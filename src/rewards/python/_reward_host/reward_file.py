"""Loads a reward file, whose functions have TRL's reward signature."""

import ast
import inspect

from .module_file import LoadFault, execute, signature_end

# Arguments that TRL's trainer passes in addition to the dataset's columns.
GIVEN = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")


class Reward:
    """A reward function in the file."""

    def __init__(self, name, function, location):
        self.name = name
        self.function = function
        self.location = location
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)
        )
        parameters = inspect.signature(function).parameters.values()
        named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.parameters = [p.name for p in named]
        self.required = [p.name for p in named if p.default is p.empty]

    def describe(self):
        described = {
            "name": self.name,
            "parameters": self.parameters,
            # completion_ids and similar arguments come from TRL, not from the dataset.
            "required": [name for name in self.required if name not in GIVEN or name == "completion_ids"],
            "batchOnly": getattr(self.function, "batch_only", False) is True,
            "location": self.location,
        }
        weight = getattr(self.function, "weight", None)
        if isinstance(weight, (int, float)) and not isinstance(weight, bool) and weight == weight and abs(weight) < 1e300:
            described["weight"] = float(weight)
        return described


def load(path, passing=()):
    """Loads a file's rewards and returns them in file order as {name: Reward}. `passing`: exceptions that the file did
    not cause.
    """
    module, tree, source = execute(path, "reward", passing)
    rewards = {}
    for key, value in list(module.__dict__.items()):
        if key.startswith("_") or not _is_reward(value, module):
            continue
        rewards[key] = Reward(key, value, _location(tree, source, key))
    if not rewards:
        raise LoadFault(
            reason="invalid",
            message="The file has no public function with TRL's signature, so it has no rewards",
            action="Define a function: `def brevity(prompts, completions, **kwargs): return [...]`.",
            file=path,
            line=1,
        )
    order = sorted(rewards.values(), key=lambda reward: (reward.location or {"line": 1 << 30})["line"])
    return {reward.name: reward for reward in order}


def _is_reward(value, module):
    if isinstance(value, type) or not callable(value) or getattr(value, "__module__", None) != module.__name__:
        return False
    try:
        names = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return False
    return "completions" in names and names[0] in ("prompts", "completions", "completion_ids")


def _location(tree, source, name):
    """Returns the first and last line of the signature, 1-based, or None if no statement in the file defines the name.
    """
    found = None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            found = (node.lineno, signature_end(source, node))
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            found = (node.lineno, node.lineno)
    return None if found is None else {"line": found[0], "endLine": found[1]}
