"""Runs tests against an answer that runs in another sandbox.

The answer's functions are proxies here: a call sends its arguments and receives a value of plain types. No code from
the answer runs in this process, and no code from the tests runs in the other one.
"""

import ast
import builtins
import collections.abc
import inspect
import json
import math
import os
import sys
import types

requests = os.fdopen(os.dup(1), "wb")
replies = os.fdopen(os.dup(0), "rb")
verdicts = os.fdopen(os.dup(2), "w", encoding="utf-8")
nothing = os.open(os.devnull, os.O_RDWR)
for descriptor in (0, 1, 2):
    os.dup2(nothing, descriptor)


class Stopped(BaseException):
    """Raised when the answer's process has ended. Not a subclass of Exception, so a test that expects errors cannot
    mistake it for one.
    """


# Raising these would end an iteration in the checker instead of failing it: all(map(f, values)) would then be true.
UNSAFE = (StopIteration, StopAsyncIteration, GeneratorExit, SystemExit, KeyboardInterrupt, AssertionError)
# Requests since the test began, and how many of them were calls. pytest inspects attributes of the objects it finds.
state = {"stopped": False, "requests": 0, "calls": 0}
error_classes = {}
# Names from the answer that the tests can see.
answer_names = {}


def ask(request):
    if state["stopped"]:
        raise Stopped()
    state["requests"] += 1
    state["calls"] += request["op"] == "call"
    try:
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        line = replies.readline()
    except OSError:
        line = b""
    if not line.endswith(b"\n"):
        state["stopped"] = True
        raise Stopped()
    reply = json.loads(line)
    if reply.get("later") is True:
        return {"value": Later(result(reply))}
    if "error" in reply:
        raise remote_error(*reply["error"])
    return reply


async def result(reply):
    if "error" in reply:
        raise remote_error(*reply["error"])
    return decode(reply["value"])


def remote_error(name, message):
    known = error_classes.get(name) or getattr(builtins, str(name), None)
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UNSAFE):
        try:
            return known(message)
        except Exception:
            pass
    return RuntimeError(f"{name}: {message}")


class Misunderstood(Exception):
    """Raised if the row's tests have an unsupported format. The answer is not at fault."""


class Remote:
    """Proxy for an object in the answer's process. Comparing it is an error, because only the answer could determine
    what it equals.
    """

    def __init__(self, target):
        object.__setattr__(self, "_target", target)

    def __call__(self, *args, **kwargs):
        return call(object.__getattribute__(self, "_target"), args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return decode(ask({"op": "get", "attribute": name, **object.__getattribute__(self, "_target")})["value"])

    def __setattr__(self, name, value):
        ask({"op": "set", "attribute": name, "value": encode(value), **object.__getattribute__(self, "_target")})

    def __eq__(self, other):
        raise TypeError("an object in the answer is compared with another value")

    def __hash__(self):
        return hash(str(object.__getattribute__(self, "_target")))

    def __bool__(self):
        raise TypeError("an object in the answer has no truth value")


class Later(collections.abc.Coroutine):
    """Result of an async function in the answer. It must be awaited and has no value of its own."""

    def __init__(self, inner):
        self._inner = inner

    def send(self, value):
        return self._inner.send(value)

    def throw(self, *error):
        return self._inner.throw(*error)

    def close(self):
        self._inner.close()

    def __await__(self):
        return self._inner.__await__()

    def __eq__(self, other):
        raise TypeError("a coroutine in the answer is compared with another value")

    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("a coroutine in the answer has no truth value")


def call(target, args, kwargs):
    request = {
        "op": "call",
        **target,
        "args": [encode(one) for one in args],
        "kwargs": {name: encode(one) for name, one in kwargs.items()},
    }
    return decode(ask(request)["value"])


# Flag of classes defined in Python code.
HEAP_TYPE = 1 << 9


def encode(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if -(2**53) < value < 2**53 else {"t": "int", "v": hex(value)}
    if isinstance(value, float):
        return {"t": "float", "v": repr(float(value))}
    if isinstance(value, complex):
        return {"t": "complex", "v": [repr(value.real), repr(value.imag)]}
    if isinstance(value, (bytes, bytearray)):
        return {"t": type(value).__name__, "v": value.hex()}
    if isinstance(value, dict):
        return {"t": "dict", "v": [[encode(one) for one in pair] for pair in value.items()]}
    if isinstance(value, Remote):
        target = object.__getattribute__(value, "_target")
        if "target" in target:
            return {"t": "object", "v": target["target"]}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return {"t": kind.__name__, "v": [encode(one) for one in value]}
    if type(value).__name__ == "deque":
        return {"t": "deque", "v": [encode(one) for one in value]}
    if hasattr(value, "__next__") or isinstance(value, range):
        return {"t": "iterator" if hasattr(value, "__next__") else "range", "v": [encode(one) for one in value]}
    if callable(value) and getattr(builtins, getattr(value, "__name__", ""), None) is value:
        return {"t": "builtin", "v": value.__name__}
    kind = value if isinstance(value, type) else type(value)
    of_answer = isinstance(value, (Remote, Later)) or kind in error_classes.values()
    # Once the answer has returned something, it might have caused this call itself, for example by returning an object
    # with `sort` instead of a list.
    if state["calls"] == 0 and (isinstance(value, types.FunctionType) or (kind.__flags__ & HEAP_TYPE and not of_answer)):
        raise Misunderstood(f"they pass a {kind.__name__} to the answer, which can only receive plain values")
    raise TypeError(f"a test cannot pass a value of type {kind.__name__}")


def decode(value):
    if not isinstance(value, dict):
        return value
    kind, inner = value["t"], value["v"]
    if kind == "object":
        return Remote({"target": int(inner)})
    if kind == "builtin":
        known = getattr(builtins, str(inner), None)
        return known if isinstance(known, type) else None
    if kind == "error":
        name, base = inner
        if name not in error_classes:
            known = getattr(builtins, str(base), Exception)
            safe = isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, UNSAFE)
            error_classes[name] = type(str(name), (known if safe else Exception,), {})
        return error_classes[name]
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
    if kind == "dict":
        return {decode(name): decode(one) for name, one in inner}
    values = [decode(one) for one in inner]
    if kind == "deque":
        from collections import deque

        return deque(values)
    if kind == "iterator":
        return iter(values)
    if kind == "range":
        step = values[1] - values[0] if len(values) > 1 else 1
        return range(values[0], values[-1] + (1 if step > 0 else -1), step) if values else range(0)
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](values)


class Tally:
    """Counts the assertions in one test. A failed assertion does not hide later ones."""

    def __init__(self):
        self.results = {}
        self.why = None
        # Reason why no answer can pass.
        self.fault = None

    def note(self, number, error):
        self.results[number] = self.results.get(number, True) and error is None
        if error is not None:
            self.failed(error)

    def failed(self, error):
        # An error raised in the answer has no name.
        if isinstance(error, NameError) and is_comparison(getattr(error, "name", None) or ""):
            self.fault = f"they use {error.name}, which is not defined"
        if isinstance(error, Misunderstood):
            self.fault = str(error)
        if self.why is None:
            words = str(error).strip().split("\n")[0][:300]
            self.why = f"{type(error).__name__}: {words}" if words else type(error).__name__


class Split(ast.NodeTransformer):
    """Wraps each assertion so that it is counted. Leaves assertions inside `try` alone, because they might be intended
    to fail.
    """

    def __init__(self):
        self.count = 0

    def visit_Try(self, node):
        return node

    def visit_Assert(self, node):
        number = self.count
        self.count += 1
        template = f"try:\n    pass\nexcept Exception as _e:\n    _tally.note({number}, _e)\nelse:\n    _tally.note({number}, None)"
        guarded = ast.parse(template).body[0]
        guarded.body = [node]
        return [ast.copy_location(guarded, node)]


# Names that an answer must not override because tests rely on them, for example with `all = lambda values: True`.
RESERVED = {*dir(builtins), *sys.stdlib_module_names, "np", "pd", "numpy", "pandas", "pytest", "check", "candidate"}

# Comparison functions used in tests. Tests rely on the answer to import them, but get them from the library instead.
COMPARING = ("isclose", "allclose", "approx", "raises", "expect")
SPELLED_OUT = {"np": "numpy", "pd": "pandas", "numpy": "numpy", "pandas": "pandas", "pytest": "pytest"}


def is_comparison(name):
    return name in COMPARING or name.lower().startswith("assert")


def is_reserved(name):
    return name.startswith("__") or name in RESERVED or is_comparison(name)


def judge_of(tree, entry_point, known):
    """
    Returns the name of a function that receives the tested value in an assertion but is not defined in the row, or
    None if there is none. An answer that defines this function could decide its own result.
    """
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            own |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if "*" in own:
        return None
    tested = {name_of(entry_point), "candidate"}

    def calls_tested(value):
        calls = [one.func for one in ast.walk(value) if isinstance(one, ast.Call)]
        return any(isinstance(one, ast.Name) and one.id in tested for one in calls)

    conditions = [node.test for node in nodes if isinstance(node, ast.Assert)]
    for one in conditions:
        if isinstance(one, ast.BoolOp):
            conditions += one.values
        elif isinstance(one, ast.UnaryOp):
            conditions.append(one.operand)
        elif isinstance(one, ast.Call) and any(calls_tested(value) for value in one.args):
            function = one.func
            while isinstance(function, ast.Attribute):
                function = function.value
            name = function.id if isinstance(function, ast.Name) else None
            if name is not None and not (name in tested or name in own or is_reserved(name) or name in known):
                return name
    return None


METHOD = "Solution()."


def name_of(entry_point):
    """Returns the name that the answer must define: the function, or the class that has the method."""
    return "Solution" if entry_point.startswith(METHOD) else entry_point


def tested_by(entry_point, names):
    """
    Returns the tested function, or None if the answer does not define it. For a method,
    one instance is created per test, on the first call, so a test that makes no calls never uses the answer.
    """
    tested = names.get(name_of(entry_point))
    if tested is None or not entry_point.startswith(METHOD):
        return tested
    made = []

    def method(*args, **kwargs):
        if not made:
            made.append(tested())
            # Creating the object does not count: the test has not seen any result yet.
            state["calls"] -= 1
        return getattr(made[0], entry_point.removeprefix(METHOD))(*args, **kwargs)

    return method


def names_in(code):
    """Returns all identifiers that a piece of code refers to. The result is empty if the code is not valid Python."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
    return found


def modules_used(tree, scope):
    """Adds library modules that tests use without importing them, relying on the answer's imports."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name) or node.id in scope:
            continue
        module = node.id if node.id in sys.stdlib_module_names else SPELLED_OUT.get(node.id)
        try:
            if module is not None:
                scope[node.id] = __import__(module)
            elif node.id == "isclose":
                scope[node.id] = math.isclose
        except Exception:
            pass


# Test runners that test files call at the end. Their tests are run here instead.
RUNNERS = ("unittest.main", "pytest.main")


def without_runners(tree):
    def starts_runner(node):
        call = node.value if isinstance(node, ast.Expr) else None
        is_end = isinstance(call, ast.Call) and ast.unparse(call.func) in ("sys.exit", "exit", "quit")
        if is_end and len(call.args) == 1:
            call = call.args[0]
        return isinstance(call, ast.Call) and ast.unparse(call.func) in RUNNERS

    tree.body = [node for node in tree.body if not starts_runner(node)]
    return tree


def run_code(code, names, entry_point, tally):
    split = Split()
    scope = dict(names)
    scope["__builtins__"] = builtins
    scope["_tally"] = tally
    tested = None if entry_point is None else tested_by(entry_point, names)
    if tested is not None:
        scope["candidate"] = tested
    before = dict(scope)
    try:
        try:
            tree = without_runners(ast.parse(code, "test.py"))
        except (SyntaxError, ValueError) as error:
            raise Misunderstood(f"the test is not valid Python: {error}") from None
        known = {name for name in scope if scope[name] is not answer_names.get(name)}
        judge = None if entry_point is None else judge_of(tree, entry_point, known)
        if judge is not None:
            raise Misunderstood(f"they compare with {judge}, which they do not define")
        require_modules(tree)
        modules_used(tree, scope)
        if is_for_pytest(tree) and find_pytest():
            return run_pytest(ast.unparse(tree), scope, tally)
        tree = ast.fix_missing_locations(split.visit(tree))
        exec(compile(tree, "test.py", "exec"), scope)
        check = scope.get("check")
        if isinstance(check, types.FunctionType) and not calls_by_itself(tree, "check"):
            if tested is None:
                raise NameError(f"the answer does not define {entry_point}")
            check(tested)
        own = {name: value for name, value in scope.items() if value is not before.get(name)}
        for name, value in own.items():
            if name.startswith("test") and isinstance(value, types.FunctionType):
                run_function(name, value)
        run_classes(own)
        run_cases(scope, tally)
        if not tally.results and split.count > 0:
            raise ValueError("none of the test's assertions was reached")
    except BaseException as error:
        tally.failed(error)
        # Assertions that were not reached count as failed.
        for number in range(split.count):
            tally.results.setdefault(number, False)
        if not tally.results:
            tally.results["whole"] = False
        elif all(tally.results.values()):
            tally.results["raised"] = False
        if isinstance(error, (Stopped, Misunderstood)):
            raise
    if tally.fault is not None:
        raise Misunderstood(tally.fault)
    if not tally.results:
        tally.results["whole"] = True


def require_modules(tree):
    """Checks that modules imported without `try` are installed. If a module is missing, no answer can pass the tests.
    """
    import importlib.util

    for node in tree.body:
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        else:
            wanted = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module else []
        for name in wanted:
            top = name.split(".")[0]
            if top not in sys.modules and importlib.util.find_spec(top) is None:
                raise Misunderstood(f"they import {top}, which is not installed")


def is_for_pytest(tree):
    """Returns whether the code is a test file that pytest would collect and that has no HumanEval-style `check`."""
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    if any(node.name == "check" for node in functions):
        return False
    return bool(classes) or any(node.name.startswith("test") for node in functions)


def find_pytest():
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="")
    try:
        import pytest
    except Exception:
        return False
    return hasattr(pytest, "main")


class PytestOutcomes:
    """Records what pytest does, to verify that all collected tests were run and passed."""

    def __init__(self):
        self.collected = []
        self.outcomes = {}
        self.faults = []
        self.unknown = []
        # Number of calls to the answer before each test, and the tests that the row itself marks as expected failures.
        self.calls = {}
        self.marked = set()

    def pytest_runtest_makereport(self, item, call):
        import pytest

        if item.get_closest_marker("xfail") is not None:
            self.marked.add(item.nodeid)
        if call.excinfo is not None and call.excinfo.errisinstance(pytest.FixtureLookupError):
            self.unknown.append(f"{item.name} requires {call.excinfo.value.argname}, which is not a fixture in the row")

    def pytest_collection_finish(self, session):
        self.collected = [item.nodeid for item in session.items]

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.faults.append((report.outcome, last_line(report.longrepr)))

    def pytest_pyfunc_call(self, pyfuncitem):
        # pytest does not run coroutines on its own.
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        import asyncio

        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

    def pytest_runtest_logstart(self, nodeid, location):
        self.calls[nodeid] = state["calls"]

    def pytest_runtest_logreport(self, report):
        outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
        # If a test is skipped after it has used the answer, the row is not at fault.
        if outcome == "skipped" and report.nodeid not in self.marked and state["calls"] > self.calls[report.nodeid]:
            outcome = "failed"
        if report.when == "call" or outcome != "passed":
            worse = self.outcomes.get(report.nodeid, ("passed", ""))[0] != "passed"
            if not worse:
                self.outcomes[report.nodeid] = (outcome, last_line(report.longrepr))


def last_line(report):
    if isinstance(report, tuple):
        report = report[-1]
    crash = getattr(getattr(report, "reprcrash", None), "message", None)
    lines = [line for line in str(crash or report or "").strip().split("\n") if line.strip()]
    return (lines[0 if crash else -1] if lines else "failed")[:300]


def run_pytest(code, scope, tally):
    import shutil
    import tempfile

    import pytest

    names = types.ModuleType("_names_of_row")
    names.__dict__.update({name: value for name, value in scope.items() if name not in ("__builtins__", "_tally")})
    names.__all__ = [name for name in names.__dict__ if not name.startswith("__")]
    sys.modules[names.__name__] = names
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "test_row.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"from {names.__name__} import *\n{code}")
    heard = PytestOutcomes()
    flags = ["-q", "-s", "--noconftest", "--import-mode=importlib", "--rootdir", folder, "-c", os.devnull]
    off = [part for name in ("cacheprovider", "faulthandler", "junitxml") for part in ("-p", f"no:{name}")]
    try:
        pytest.main([*flags, *off, path], plugins=[heard])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if state["stopped"]:
        raise Stopped()
    # If the answer was used while tests were being collected, the row is not at fault for the outcome.
    was_used = state["calls"] > 0
    for outcome, why in heard.faults:
        if outcome == "skipped" and not was_used:
            raise Misunderstood(f"pytest cannot collect them: {why}")
        raise ValueError(why)
    if heard.unknown:
        raise Misunderstood(heard.unknown[0])
    if not heard.collected:
        raise Misunderstood("pytest does not find any tests in them")
    for one in heard.collected:
        outcome, why = heard.outcomes.get(one, ("not run", ""))
        if outcome not in ("passed", "failed"):
            raise Misunderstood(f"{one.split('::', 1)[-1]} is {outcome}: {why}"[:300])
        tally.note(one, None if outcome == "passed" else AssertionError(why))


def run_function(name, function):
    """Runs a test function as pytest does, but without fixtures."""
    if not isinstance(function, (types.FunctionType, types.MethodType)):
        raise Misunderstood(f"{name} is decorated, which is not supported")
    parameters = inspect.signature(function).parameters.values()
    open_ended = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [one.name for one in parameters if one.default is one.empty and one.kind not in open_ended]
    if needed:
        raise Misunderstood(f"{name} requires {', '.join(needed)}, but fixtures and parameters are not supported")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise Misunderstood(f"{name} is a generator, which test runners do not support")
    if inspect.iscoroutinefunction(function):
        import asyncio

        asyncio.run(function())
    else:
        function()


def run_classes(found):
    """Runs test classes as pytest does, with a new object for each method."""
    unittest = sys.modules.get("unittest")
    for name, value in found.items():
        if not isinstance(value, type) or not name.startswith("Test"):
            continue
        if unittest is not None and issubclass(value, unittest.TestCase):
            continue
        for method in [one for one in dir(value) if one.startswith("test")]:
            instance = value()
            if hasattr(instance, "setup_method"):
                instance.setup_method()
            run_function(f"{name}.{method}", getattr(instance, method))


def run_cases(scope, tally):
    """Runs the methods of unittest classes."""
    unittest = sys.modules.get("unittest")
    if unittest is None:
        return
    for value in list(scope.values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            for case in unittest.defaultTestLoader.loadTestsFromTestCase(value):
                result = unittest.TestResult()
                calls = state["calls"]
                case.run(result)
                number = f"{value.__name__}.{case._testMethodName}"
                problems = [text for _, text in result.failures + result.errors]
                skips = [f"{number} is skipped: {why}"[:300] for _, why in result.skipped]
                if skips and state["calls"] == calls:
                    raise Misunderstood(skips[0])
                problems += skips
                words = problems[0].strip().split("\n")[-1].removeprefix("AssertionError: ") if problems else ""
                tally.note(number, AssertionError(words) if problems else None)
                if state["stopped"]:
                    raise Stopped()


def calls_by_itself(tree, name):
    return any(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == name
        for node in tree.body
    )


def same(value, expected, tolerance):
    """
    Returns whether two values are equal as JSON: tuples equal lists, and True is not 1. Integers must match exactly,
    and floats within the row's tolerance. The tolerance is relative to the expected value, so no infinite value is
    close to anything.
    """
    if isinstance(value, (list, tuple)) and isinstance(expected, list):
        return len(value) == len(expected) and all(same(a, b, tolerance) for a, b in zip(value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        keys = {str(key): one for key, one in value.items()}
        return keys.keys() == expected.keys() and all(same(one, expected[key], tolerance) for key, one in keys.items())
    if value is None or isinstance(value, bool):
        return value is expected
    if type(value) in (int, float) and type(expected) in (int, float):
        return value == expected or (isinstance(expected, float) and near(value, expected, tolerance))
    return type(value) is str and type(expected) is str and value == expected


def near(value, expected, tolerance):
    # A relative tolerance would accept every value if the expected value is infinite.
    if math.isinf(expected):
        return False
    try:
        return abs(value - expected) <= (tolerance["relative"] * abs(expected) if expected != 0 else tolerance["zero"])
    except OverflowError:
        return False


def run_call(tests, names, arguments, expected, alternatives, tally):
    entry_point = tests["entryPoint"]
    try:
        tested = tested_by(entry_point, names)
        # LiveCodeBench and APPS do not distinguish between functions and methods.
        if tested is None and not entry_point.startswith(METHOD):
            tested = tested_by(METHOD + entry_point, names)
        if tested is None:
            raise NameError(f"the answer does not define {entry_point}")
        value = tested(*arguments)
        if isinstance(value, Later):
            import asyncio

            value = asyncio.run(value)
        passed = any(same(value, one, tests["tolerance"]) for one in [expected, *alternatives])
        tally.note("whole", None if passed else ValueError("the value differs from the expected value"))
    except Exception as error:
        tally.note("whole", error)


def named(name, value):
    """Returns what a name in the answer refers to. If it refers to a built-in type (solve = int), calls also go to the
    answer.
    """
    decoded = decode(value)
    return Remote({"name": name}) if isinstance(decoded, type) and decoded.__module__ == "builtins" else decoded


def wanted_names(tests):
    """Returns the names in the answer that the tests refer to. Nothing else in the answer is visible here."""
    wanted = {tests["entryPoint"], "Solution"}
    for code in [*tests["setup"], *(tests.get("tests") or [])]:
        wanted |= names_in(code)
    return wanted


def run_prompt(prompt, scope):
    """Runs a prompt that is code, because it might define names that its tests use. Ignores prose that contains some
    code.
    """
    try:
        compiled = compile(prompt, "prompt.py", "exec")
    except (SyntaxError, ValueError):
        return
    trial = dict(scope)
    try:
        exec(compiled, trial)
    except Exception:
        return
    scope.update(trial)


def say(**verdict):
    verdicts.write(json.dumps(verdict) + "\n")
    verdicts.flush()


def main():
    with open("tests.json", encoding="utf-8") as file:
        tests = json.load(file)
    names = {}
    try:
        loaded = ask({"op": "load"})["names"]
        wanted = wanted_names(tests)
        seen = [(name, value) for name, value in loaded.items() if name in wanted and not is_reserved(name)]
        names = {name: named(name, value) for name, value in seen}
        answer_names.update(names)
    except Stopped:
        return say(load="the answer's process exited")
    except Exception as error:
        return say(load=f"{error}"[:300])
    module = types.ModuleType("solution")
    module.__dict__.update(names)
    for name in ("solution", "answer"):
        sys.modules[name] = module
    calls = json.loads(tests["calls"]) if tests.get("calls") else None
    count = len(calls["inputs"]) if calls else len(tests["tests"])
    count = min(count, tests["most"])
    # Names defined in the row override those in the answer, except for the tested function.
    scope = {**names, "__builtins__": builtins}
    try:
        if tests.get("prompt"):
            run_prompt(tests["prompt"], scope)
        for setup in tests["setup"]:
            exec(compile(setup, "setup.py", "exec"), scope)
    except Stopped:
        return say(load="the answer's process exited")
    except Exception as error:
        words = f"{type(error).__name__} in the test setup: {error}"[:300]
        # If the answer is not involved, the row itself is at fault.
        is_used = any(names_in(setup) & names.keys() for setup in tests["setup"])
        return say(load=words) if is_used or isinstance(error, NameError) else say(fault=words)
    tested = tests["entryPoint"] and name_of(tests["entryPoint"])
    if tested in names:
        scope[tested] = names[tested]
    for name in [one for one in names if one != tested and scope.get(one) is not names[one]]:
        module.__dict__[name] = scope[name]
    for number in range(tests["skip"], count):
        tally = Tally()
        state["requests"] = state["calls"] = 0
        try:
            if calls:
                expected = calls["outputs"][number]
                # APPS wraps some expected values in a one-element list.
                wrapped = isinstance(expected, list) and len(expected) == 1 and calls.get("wrapped")
                run_call(tests, names, calls["inputs"][number], expected, expected if wrapped else [], tally)
            else:
                run_code(tests["tests"][number], scope, tests["entryPoint"], tally)
        except Stopped:
            pass
        except Misunderstood as error:
            if not state["stopped"]:
                return say(fault=f"{error}"[:300])
        if state["stopped"]:
            # The test might have mistaken the exit for an expected error. An answer that exits never passes.
            if all(tally.results.values()):
                tally.results["ended"] = False
            parts, passed = len(tally.results), sum(tally.results.values())
            return say(test=number, parts=parts, passed=passed, why="the answer's process exited")
        if state["requests"] == 0:
            say(test=number, parts=1, passed=0, why=tally.why or "the test did not use the answer")
            continue
        passed = sum(tally.results.values())
        say(test=number, parts=len(tally.results), passed=passed, why=tally.why)


main()
