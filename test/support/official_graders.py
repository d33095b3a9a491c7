"""Runs benchmarks' own graders, as published in PyPI packages.

Reads {"packages": folder, "node": program, "items": [{"grader", "code", "row"}]} from standard input and prints a
list of booleans.
"""

import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import types
from unittest.mock import MagicMock


def load(path, stubs):
    for name in stubs:
        sys.modules.setdefault(name, MagicMock())
    spec = importlib.util.spec_from_file_location("packages.grader", path, submodule_search_locations=None)
    module = importlib.util.module_from_spec(spec)
    module.__package__ = "packages"
    sys.modules.setdefault("packages", MagicMock(__path__=[]))
    sys.modules.setdefault("packages.base", MagicMock())
    spec.loader.exec_module(module)
    return module


class RuntimeModule:
    """Replacement for the package pyext, which supports only Python 3.10 and older."""

    @staticmethod
    def from_string(name, _doc, source):
        module = types.ModuleType(name)
        exec(source, module.__dict__)
        return module


def livecodebench(packages, row, code):
    module = load(f"{packages}/lighteval/tasks/tasks/lcb/codegen_metrics.py", ["tqdm"])
    return module.run_test(row, test=code, timeout=6)


def apps(packages, row, code):
    equality = load(f"{packages}/opencompass/utils/code_execution.py", [])
    names = ("openicl", "openicl.icl_evaluator", "registry", "utils")
    stubs = ["datasets", "opencompass", *(f"opencompass.{name}" for name in names)]
    sys.modules["opencompass.utils.code_execution"] = equality
    module = load(f"{packages}/opencompass/datasets/apps.py", stubs)
    module.RuntimeModule = RuntimeModule
    return module.run_test(row, test=code)


def graded(grader, packages, row, code, result):
    with open(os.devnull, "w") as nothing:
        sys.stdout = sys.stderr = nothing
        found = grader(packages, row, code)
        found = found[0] if isinstance(found, tuple) else found
        result.value = 1 if len(found) > 0 and all(one is True for one in found) else 0
        os._exit(0)


def run(arguments, text=""):
    with tempfile.TemporaryDirectory() as folder:
        try:
            return subprocess.run(arguments, cwd=folder, input=text, capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            return None


def verdict(item, packages, node):
    name, row, code = item["grader"], item["row"], item["code"]
    # MBPP's rule, from the paper: the program and its three assertions run without an error.
    if name == "mbpp":
        done = run([sys.executable, "-c", "\n".join([code, *row["test_list"]])])
        return done is not None and done.returncode == 0
    # CodeGeeX's rule for JavaScript: nothing may be written to stdout or stderr.
    if name == "humanevalx":
        done = run([node, "-e", f"{code}\n{row['test']}"])
        return done is not None and done.stdout == "" and done.stderr == ""
    # One program: the prompt, the answer, the test, and a call to check with the entry point.
    if name == "leetcode":
        done = run([sys.executable, "-c", f"{row['prompt']}{code}\n{row['test']}\ncheck({row['entry_point']})"])
        return done is not None and done.returncode == 0
    result = multiprocessing.Value("i", 0)
    grader = {"apps": apps, "livecodebench": livecodebench}[name]
    process = multiprocessing.Process(target=graded, args=(grader, packages, row, code, result))
    process.start()
    process.join(30)
    process.kill()
    return result.value == 1


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    asked = json.load(sys.stdin)
    print(json.dumps([verdict(item, asked["packages"], asked["node"]) for item in asked["items"]]))
