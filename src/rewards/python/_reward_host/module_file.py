"""Loads a user's Python file: a reward file or an environment file."""

import ast
import io
import os
import sys
import sysconfig
import tokenize
import types

from . import frames


class LoadFault(Exception):
    """Raised if a file cannot be loaded. Sent to the client as JSON-RPC error data."""

    def __init__(self, **data):
        super().__init__(data["message"])
        self.data = data


def execute(path, noun, passing=()):
    """Runs a file as a module. Returns (module, syntax tree, source); the tree is empty if the source cannot be decoded.
    `noun`: what the file contains, such as "reward". `passing`: exceptions that the file did not cause.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise LoadFault(reason="missing", message=f"Cannot read the {noun} file {path} ({error.strerror})", file=path)
    name = os.path.basename(path).split(".")[0]
    module = types.ModuleType(name if name.isidentifier() and name not in sys.modules else f"{noun}_{name}")
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
        return module, ast.parse(content), tokenize.open(path).read()
    except Exception:
        return module, ast.Module([], []), ""


def signature_end(source, node):
    """Returns the line with the colon after the parameters."""
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
    """Returns all loaded files in a file's folder and its subfolders, with the file itself first."""
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
