"""Loads this process's environment once, then runs episodes with instances of it. The environment is the class in a
file, or comes from another library, through a module with the same interface. Requests and results follow
src/protocol/environmentHost.ts. A model sees the same text as with TRL's trainer (`GRPOTrainer._tool_call_loop` in
1.13).
"""

import inspect
import os
import random
import time

from . import environment_file, frames, limits, module_file, scoring, turn_rewards
from .libraries import EpisodeEnd
from .state_summary import summarize, summarize_mapping
from .tool_calls import call_all

# Maximum length of an observation, in characters. A trainer would drop longer ones, because they exceed any context.
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
        kind = params.get("kind", "file")
        self.file = os.path.abspath(params["file"]) if kind == "file" else params["file"]
        if kind != "file":
            return self._load_foreign(kind, params, start)
        folder = os.path.dirname(self.file)
        try:
            os.chdir(folder)
        except OSError as error:
            raise module_file.LoadFault(reason="missing", message=f"Cannot use folder {folder} ({error.strerror})")
        limits.limit_memory(params.get("memoryMb"))
        random.seed(params["seed"])
        self._environment = environment_file.load(self.file, self._passing)
        return self._loaded(module_file.local_files(self.file), start)

    def _load_foreign(self, kind, params, start):
        """Raises LoadFault."""
        if os.path.isdir(self.file):
            os.chdir(self.file)
        limits.limit_memory(params.get("memoryMb"))
        random.seed(params["seed"])
        arguments = params.get("arguments") or {}
        try:
            # The libraries take seconds to import, so nothing else in this program imports their modules.
            if kind == "verifiers":
                from .verifiers_environment import VerifiersEnvironment as Foreign
            else:
                from .openenv_environment import OpenEnvEnvironment as Foreign
            self._environment = Foreign(self.file, arguments, self._passing)
        except EpisodeEnd as end:
            raise module_file.LoadFault(reason="unavailable", message=str(end))
        return self._loaded(self._environment.files, start)

    def _loaded(self, files, start):
        return {
            "environment": self._environment.describe(),
            "files": files,
            "logs": self._capture.next(),
            "durationMs": (time.perf_counter() - start) * 1000,
        }

    def rows(self, params):
        """Returns the environment's own rows. Files have none."""
        if not hasattr(self._environment, "rows"):
            return {"rows": []}
        return {"rows": self._environment.rows(params["count"])}

    def reset(self, params):
        """Starts an episode in an instance, which is created on first use. As in TRL, instances are reused."""
        key = params["instance"]

        def work():
            if key not in self._instances:
                self._instances[key] = self._environment.create()
            if "seed" in params:
                random.seed(params["seed"])
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
            tools = self._environment.tools_of(instance)
            before = turn_rewards.count_of(instance)
            results, fault = [], None
            called = call_all(tools, params["calls"], self.file)
            if hasattr(instance, "record_turn"):
                instance.record_turn(params["calls"], called)
            for result in called:
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
            reward, wrong = turn_rewards.earned_since(instance, before)
            if wrong is not None:
                fault = fault or _invalid(wrong)
            earned = {} if reward is None else {"reward": reward}
            return {"results": results, **earned, **({} if fault is None else {"error": fault})}

        return self._reply(params, work)

    def reward(self, params):
        instance = self._instances[params["instance"]]

        def work():
            messages = params.get("messages")
            takes_messages = messages is not None and hasattr(instance, "record_turn")
            value = instance.get_reward(messages) if takes_messages else instance.get_reward()
            if inspect.iscoroutinefunction(instance.get_reward):
                value = scoring.event_loop().run_until_complete(value)
            number, fault = scoring.number_of(value, "get_reward returned")
            return {"value": number} if fault is None else {"value": None, "error": _invalid(fault)}

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
        instance = self._instances.pop(params["instance"], None)
        if isinstance(self._environment, environment_file.Environment) or instance is None:
            return {}
        try:
            instance._close()
        except self._passing:
            raise
        except BaseException:
            # Its episode is over.
            pass
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
            reply["state"] = self._state_of(instance)
        logs = self._capture.next()
        if logs:
            reply["logs"] = logs
        return reply

    def _state_of(self, instance):
        if isinstance(self._environment, environment_file.Environment):
            return summarize(instance)
        try:
            return summarize_mapping(instance._summary())
        except self._passing:
            raise
        except Exception as error:
            return {"state": frames.message_of(error)}

    def _fault(self, error):
        if isinstance(error, EpisodeEnd):
            return {"kind": error.kind, "message": str(error)}
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
