"""Loads this process's environment once, then runs episodes with instances of it. Requests and results follow
src/protocol/environmentHost.ts. What a model sees is what TRL's trainer shows it (`GRPOTrainer._tool_call_loop` in 1.13).
"""

import inspect
import os
import random
import time

from . import environment_file, frames, limits, module_file, scoring
from .state_summary import summarize
from .tool_calls import call_all

# Maximum length of an observation, in characters. A trainer would drop a longer one, as it exceeds any context.
MAX_OBSERVATION = 1 << 20


class Environments:
    def __init__(self, capture, passing=()):
        """`passing`: exceptions that the environment did not cause, such as a cancellation."""
        self._capture = capture
        self._passing = passing
        self._environment = None
        self._instances = {}
        self.file = None

    def load(self, params):
        """Raises LoadFault."""
        start = time.perf_counter()
        self.file = os.path.abspath(params["file"])
        folder = os.path.dirname(self.file)
        try:
            os.chdir(folder)
        except OSError as error:
            raise module_file.LoadFault(reason="missing", message=f"Cannot use folder {folder} ({error.strerror})")
        limits.limit_memory(params.get("memoryMb"))
        random.seed(params["seed"])
        self._environment = environment_file.load(self.file, self._passing)
        return {
            "environment": self._environment.describe(),
            "files": module_file.local_files(self.file),
            "logs": self._capture.next(),
            "durationMs": (time.perf_counter() - start) * 1000,
        }

    def reset(self, params):
        """Starts an episode in an instance, which is created on first use. As in TRL, instances are reused."""
        key = params["instance"]

        def work():
            if key not in self._instances:
                # As in TRL, the instance that was inspected is used first.
                probe, self._environment.probe = self._environment.probe, None
                self._instances[key] = self._environment.kind() if probe is None else probe
            observation = self._instances[key].reset(**params["row"])
            if observation is not None and not isinstance(observation, str):
                if hasattr(observation, "close") and hasattr(observation, "send"):
                    observation.close()
                return {"error": _invalid(f"reset returned {scoring.name_of(observation)} instead of a string or None")}
            fault = _too_long("reset", observation)
            return {"observation": observation} if fault is None else {"error": fault}

        return self._reply(params, work)

    def call(self, params):
        """Runs one turn's tool calls, in order."""
        instance = self._instances[params["instance"]]

        def work():
            tools = environment_file.tools_of(instance)
            results, fault = [], None
            for result in call_all(tools, params["calls"], self.file):
                content = result.pop("value")
                if isinstance(content, list):
                    fault = fault or _invalid(
                        f"{result['name']} returned a list, which trainers read as content blocks; return a string"
                    )
                    content = ""
                else:
                    content = str(content)
                    fault = fault or _too_long(result["name"], content)
                results.append({**result, "content": content if fault is None else content[:2000]})
            return {"results": results} if fault is None else {"results": results, "error": fault}

        return self._reply(params, work)

    def reward(self, params):
        instance = self._instances[params["instance"]]

        def work():
            value = instance.get_reward()
            if inspect.iscoroutinefunction(instance.get_reward):
                value = scoring.event_loop().run_until_complete(value)
            number, fault = scoring.number_of(value)
            return {"value": number} if fault is None else {"value": None, "error": _invalid(f"get_reward {fault}")}

        return self._reply(params, work)

    def play(self, params):
        """Plays a whole episode whose calls are known in advance. Ends early if user code fails."""
        place = {"instance": params["instance"], "state": params.get("state")}
        reply = {"reset": self.reset({**place, "row": params["row"]}), "turns": [], "reward": None}
        last = reply["reset"]
        for calls in params["calls"]:
            if "error" in last:
                return reply
            last = self.call({**place, "calls": calls})
            reply["turns"].append(last)
        if params["ownsReward"] and "error" not in last:
            reply["reward"] = self.reward(place)
        return reply

    def end(self, params):
        """Removes an instance."""
        self._instances.pop(params["instance"], None)
        return {}

    def _reply(self, params, work):
        """Runs user code. Any exception becomes an error in the reply."""
        start = time.perf_counter()
        try:
            reply = work()
        except self._passing:
            raise
        except BaseException as error:
            reply = {"error": self._fault(error)}
        reply["durationMs"] = (time.perf_counter() - start) * 1000
        instance = self._instances.get(params["instance"])
        reply["done"] = _done(instance)
        if params.get("state"):
            reply["state"] = summarize(instance)
        logs = self._capture.next()
        if logs:
            reply["logs"] = logs
        return reply

    def _fault(self, error):
        fault = scoring.fault_of(error, self.file)
        fault.pop("index")
        if fault["kind"] == "memory":
            fault["message"] = "MemoryError: the environment tried to exceed its memory limit"
        return fault


def _done(instance):
    try:
        done = getattr(instance, "done", None)
    except Exception:  # may be a user-defined property
        return None
    return done if isinstance(done, bool) else None


def _invalid(message):
    return {"kind": "invalid", "message": message}


def _too_long(name, text):
    if text is None or len(text) <= MAX_OBSERVATION:
        return None
    return {"kind": "size", "message": f"{name} returned {len(text):,} characters; the limit is {MAX_OBSERVATION:,}"}
