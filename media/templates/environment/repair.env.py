# @dataset __NAME__.rows.jsonl
"""Code repair: a function has a bug, and the model fixes it with the help of tests.

The model's code runs in Reasoning Lab's sandbox, through the module next to this file. Never run model-written code in
the trainer's own process.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""

import ast
import json

import reasoning_lab_sandbox as sandbox

# Calls the function with each list of arguments and prints the results. The expected results never enter the sandbox,
# so the code cannot pass by looking them up, by printing, or by ending the process.
RUNNER = """
import json
import solution

def result(arguments):
    try:
        return {"value": getattr(solution, NAME)(*arguments)}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}

print()
print(json.dumps([result(arguments) for arguments in json.load(open("calls.json"))]))
"""


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, task: str, code: str, examples: list, hidden: list, **row) -> str | None:
        # Episodes fail here, with the reason, if code cannot be run.
        sandbox.check()
        # Instances are reused, so set every attribute here.
        self._original = code
        self._name = next(node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))
        self._examples = examples
        self._hidden = hidden
        self.code = code
        self.runs = 0
        return f"{task} The function does not always do that. Fix it.\n\n{code}"

    def edit(self, code: str) -> str:
        """
        Replaces the whole program.

        Args:
            code: The new program in Python.

        Returns:
            A confirmation.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if len(str(code)) > 10_000:
            raise ValueError("The program is too long.")
        try:
            tree = ast.parse(str(code))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"The program cannot be parsed: {error}") from None
        if not any(isinstance(node, ast.FunctionDef) and node.name == self._name for node in tree.body):
            raise ValueError(f"The program does not define the function {self._name}.")
        self.code = str(code)
        return "Edited."

    def run_tests(self) -> str:
        """
        Runs the tests with the current program.

        Returns:
            The number of tests that pass, and the first one that fails.
        """
        self.runs += 1
        if self.runs > 10:
            raise ValueError("The tests have been run often enough.")
        results = self._results([arguments for arguments, _ in self._examples])
        failures = [
            f"{self._name}({', '.join(map(repr, arguments))}): {expected!r} expected, but got {_shown(result)}."
            for (arguments, expected), result in zip(self._examples, results)
            if result.get("value", _MISSING) != expected
        ]
        passed = f"{len(results) - len(failures)} of {len(results)} tests pass."
        return f"{passed} {failures[0]}" if failures else passed

    def get_reward(self) -> float:
        # The reward uses hidden tests, whose results the model has not seen.
        if self.code == self._original:
            return 0.0
        results = self._results([arguments for arguments, _ in self._hidden])
        return float(
            all(result.get("value", _MISSING) == expected for (_, expected), result in zip(self._hidden, results))
        )

    def _results(self, calls):
        """Returns {"value"} or {"error"} for each list of arguments."""
        runner = f"NAME = {self._name!r}\n{RUNNER}"
        files = {"solution.py": self.code, "main.py": runner, "calls.json": json.dumps(calls)}
        ended = sandbox.run("python", ["main.py"], files, seconds=3)
        try:
            found = json.loads(ended["stdout"].splitlines()[-1])
        except (IndexError, ValueError):
            found = None
        if isinstance(found, list) and len(found) == len(calls) and all(isinstance(one, dict) for one in found):
            return found
        why = "it took too long" if ended["end"] in ("wall", "cpu") else f"the program ended early ({ended['end']})"
        return [{"error": why} for _ in calls]


_MISSING = object()


def _shown(result):
    return repr(result["value"])[:200] if "value" in result else result.get("error", "nothing")
