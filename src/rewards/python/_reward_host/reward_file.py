"""Loads a reward file, whose functions have TRL's reward signature."""

import ast
import inspect
import io
import os
import sys
import sysconfig
import tokenize
import types

from . import frames

# Arguments that TRL's trainer passes in addition to the dataset's columns.
GIVEN = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")


class LoadFault(Exception):
    """Raised if a file cannot be loaded. Sent to the client as JSON-RPC error data."""

    def __init__(self, **data):
        super().__init__(data["message"])
        self.data = data


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
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise LoadFault(reason="missing", message=f"Cannot read the reward file {path} ({error.strerror})", file=path)
    name = os.path.basename(path).split(".")[0]
    module = types.ModuleType(name if name.isidentifier() and name not in sys.modules else f"reward_{name}")
    module.__file__ = path
    # pickle and dataclasses look up the module in sys.modules.
    sys.modules[module.__name__] = module
    sys.path.insert(0, os.path.dirname(path))
    try:
        # Compile the file instead of importing it: its name contains dots, and bytecode caches must not be used.
        code = compile(content, path, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except passing:
        raise
    except SyntaxError as error:
        raise _syntax_fault(error, path)
    except BaseException as error:
        raise _import_fault(error, path)
    try:
        tree = ast.parse(content)
        source = tokenize.open(path).read()
    except Exception:
        tree, source = ast.Module([], []), ""
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
            found = (node.lineno, _signature_end(source, node))
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            found = (node.lineno, node.lineno)
    return None if found is None else {"line": found[0], "endLine": found[1]}


def _signature_end(source, node):
    """Returns the line of the colon after the parameters."""
    lines = source.splitlines(keepends=True)[node.lineno - 1 : node.body[0].lineno]
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type != tokenize.OP:
                continue
            if token.string in "([{":
                depth += 1
            elif token.string in ")]}":
                depth -= 1
            elif token.string == ":" and depth == 0:
                return node.lineno + token.start[0] - 1
    except (tokenize.TokenError, IndentationError):
        pass
    return node.lineno


def _syntax_fault(error, path):
    # A SyntaxError raised in an imported file contains the name of that file.
    data = {"reason": "invalid", "message": f"{type(error).__name__}: {error.msg}", "file": error.filename or path}
    if error.lineno is not None:
        data["line"] = error.lineno
    return LoadFault(**data)


def _import_fault(error, path):
    described = frames.describe(error, path)
    if isinstance(error, SystemExit):
        described["message"] = f"The file called sys.exit({error.code!r}) while being loaded"
    data = {"reason": "invalid", "file": path, **described}
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        data["action"] = (
            f"Install {package} for {sys.executable}, or select an interpreter that has it."
            if package == error.name
            else "Fix the import."
        )
    return LoadFault(**data)


def local_files(path):
    """Returns all loaded files in the reward's folder and its subfolders, with the reward file first."""
    folder = os.path.dirname(path) + os.sep
    installed = tuple(
        os.path.join(place, "") for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")} if place
    )
    found = [path]
    own = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or file == path:
            continue
        file = os.path.abspath(file)
        if file.startswith(own) or file.startswith(installed):
            continue
        if file.startswith(folder) and f"{os.sep}site-packages{os.sep}" not in file:
            found.append(file)
    return found
