"""Provides the names that a benchmark's grader gives to every answer: imports, or the prompt that the answer continues.
"""

import builtins

ONLY_TREE = 1024  # ast.PyCF_ONLY_AST, without the import


def give(code, namespace):
    """
    Runs given.py. Always runs the part before its first empty line, but runs the rest only if the code uses a name
    that it does not define, because imports take time. A prompt that is prose provides nothing.
    """
    try:
        with open("given.py", encoding="utf-8") as file:
            always, _, rest = file.read().partition("\n\n")
        for part in (always, rest if uses_more(code) else ""):
            trial = dict(namespace)
            exec(compile(part, "given.py", "exec"), trial)
            namespace.update(trial)
    except Exception:
        pass


def uses_more(code):
    try:
        left = [compile(code, "answer.py", "exec", ONLY_TREE)]
    except (SyntaxError, ValueError):
        return False
    used, defined = set(), set(dir(builtins))
    while left:
        node = left.pop()
        kind = type(node).__name__
        if kind == "Name":
            (used if type(node.ctx).__name__ == "Load" else defined).add(node.id)
        elif kind == "alias":
            defined.add((node.asname or node.name).split(".")[0])
        elif kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "ExceptHandler"):
            defined.add(node.name)
        elif kind == "arg":
            defined.add(node.arg)
        for field in node._fields:
            value = getattr(node, field, None)
            left += [one for one in (value if isinstance(value, list) else [value]) if hasattr(one, "_fields")]
    return not used <= defined
