"""Extracts the facts about a Python reward file that matter when exporting it to another trainer.

python reward_facts.py FILE

Prints one JSON object. The file is parsed, never executed.
"""

import ast
import json
import sys

# Arguments that TRL passes in addition to the dataset's columns (GRPOTrainer._calculate_rewards in 1.13).
TRAINER_ARGUMENTS = {
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
    "environments",
}
# Module-level calls whose results cannot be pickled, or hold a connection that each worker process must open itself.
HANDLES = {
    "open": "an open file",
    "Lock": "a lock",
    "RLock": "a lock",
    "Semaphore": "a lock",
    "Thread": "a thread",
    "ThreadPoolExecutor": "a thread pool",
    "ProcessPoolExecutor": "a process pool",
    "Pool": "a process pool",
    "Client": "a client",
    "AsyncClient": "a client",
    "Session": "a client",
    "OpenAI": "a client",
    "AsyncOpenAI": "a client",
    "connect": "a connection",
    "from_pretrained": "a model",
    "pipeline": "a model",
    "LLM": "a model",
}


def call_name(node):
    """Returns the last name in a call: `threading.Lock()` yields `Lock`."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def own_nodes(function):
    """Yields a function's nodes, except those in nested functions."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def none_lines(function):
    """Returns the lines where None can end up in the returned list: in a list literal, via append, or via a conditional.
    """
    lines = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            lists = [inner for inner in ast.walk(node.value) if isinstance(inner, ast.List)]
            if any(is_none(element) for inner in lists for element in inner.elts):
                lines.add(node.lineno)
        elif isinstance(node, ast.IfExp) and (is_none(node.body) or is_none(node.orelse)):
            lines.add(node.lineno)
        elif isinstance(node, ast.Call) and call_name(node) == "append" and any(is_none(a) for a in node.args):
            lines.add(node.lineno)
    return sorted(lines)


def message_lines(function):
    """Returns the lines that access a completion or prompt as a list of messages, with the subscript "content" or
    "role".
    """
    lines = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            if node.slice.value in ("content", "role"):
                lines.add(node.lineno)
        elif isinstance(node, ast.Call) and call_name(node) == "get" and node.args:
            if isinstance(node.args[0], ast.Constant) and node.args[0].value in ("content", "role"):
                lines.add(node.lineno)
    return sorted(lines)


def batch_lines(function):
    """Returns the lines that use the whole batch: a mean, maximum, sort or count over the completions."""
    lines = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and call_name(node) in {"mean", "max", "min", "sorted", "Counter", "median", "std"}:
            names = {inner.id for argument in node.args for inner in ast.walk(argument) if isinstance(inner, ast.Name)}
            if "completions" in names:
                lines.add(node.lineno)
    return sorted(lines)


def attributes_of(tree, name):
    """Returns module-level assignments such as `name.weight = 0.5` and `name.batch_only = True`."""
    found = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == name:
                found[target.attr] = node.value.value
    return found


def is_reward(function):
    """Returns whether a function has TRL's signature: `completions` is a parameter, and the name is public."""
    names = [argument.arg for argument in function.args.posonlyargs + function.args.args + function.args.kwonlyargs]
    return not function.name.startswith("_") and "completions" in names


def reward_facts(tree, function):
    arguments = function.args
    positional = arguments.posonlyargs + arguments.args
    names = [argument.arg for argument in positional + arguments.kwonlyargs]
    optional = {argument.arg for argument in positional[len(positional) - len(arguments.defaults) :]}
    optional |= {
        argument.arg for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default is not None
    }
    reserved = {"prompts", "completions"} | TRAINER_ARGUMENTS
    attributes = attributes_of(tree, function.name)
    weight = attributes.get("weight")
    return {
        "name": function.name,
        "line": function.lineno,
        "async": isinstance(function, ast.AsyncFunctionDef),
        "columns": [name for name in names if name not in reserved],
        "required": [name for name in names if name not in reserved and name not in optional],
        "trainerArguments": [name for name in names if name in TRAINER_ARGUMENTS],
        "anyColumn": arguments.kwarg is not None,
        "weight": weight if isinstance(weight, (int, float)) and not isinstance(weight, bool) else None,
        "batchOnly": attributes.get("batch_only") is True,
        "noneLines": none_lines(function),
        "messageLines": message_lines(function),
        "batchLines": batch_lines(function),
    }


def module_facts(tree):
    imports, handles, lambdas = [], [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports.extend({"module": name.name, "line": node.lineno} for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            imports.append({"module": module, "line": node.lineno})
    for node in tree.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        if isinstance(node.value, ast.Lambda):
            lambdas.append(node.lineno)
        for inner in ast.walk(node.value):
            if isinstance(inner, ast.Call) and call_name(inner) in HANDLES:
                handles.append({"line": inner.lineno, "what": HANDLES[call_name(inner)]})
    return {"imports": imports, "handles": handles, "lambdaLines": lambdas}


def facts(source, name):
    tree = ast.parse(source, name)
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {
        **module_facts(tree),
        "names": [node.name for node in tree.body if hasattr(node, "name")],
        "rewards": [reward_facts(tree, function) for function in functions if is_reward(function)],
    }


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    try:
        result = facts(source, path)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        result = {"error": {"message": getattr(error, "msg", None) or str(error), "line": line}}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
