"""The recipe's environment as TRL's `environment_factory`: instances that forward to a host process. The driver
supervises the process, so nothing the environment does can stop the trainer.
"""

from __future__ import annotations

import inspect
import itertools
import keyword
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Literal

from transformers.utils import get_json_schema
from trl.chat_template_utils import supports_tool_calling

from ..failure import Failure
from ..link.forwarding import Forwarder, forwarded_link
from .episodes import MadeCall, Played

if TYPE_CHECKING:
    from ..course.context import Context

Schema = dict[str, Any]
Ask = Callable[[str, dict[str, Any]], dict[str, Any]]

INSTANCE_REQUESTS = frozenset({"environment/reset", "environment/call", "environment/reward"})

TYPES: dict[str, Any] = {
    "integer": int,
    "number": float,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


class RemoteEnvironment:
    """An instance of the environment in the host process. Subclasses add the tools as methods."""

    _ask: Ask
    _scores_text = False
    _numbers: itertools.count[int]
    _phase: Callable[[], AbstractContextManager[None]]
    """Times a request as part of the step."""

    def __init__(self) -> None:
        self._number = next(self._numbers)
        self._begin()

    def _begin(self) -> None:
        self._played = Played()

    def reset(self, row: dict[str, Any], **_: Any) -> str | None:
        self._begin()
        reply = self._request("reset", {"row": row})
        self._played.observation, self._played.state = reply.get("observation"), reply.get("state")
        return self._played.observation

    def _request(self, what: str, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the reply. After a failure, the episode is over and replies are empty."""
        if self._played.error is not None:
            return {}
        since = time.perf_counter()
        try:
            with type(self)._phase():
                reply = type(self)._ask(f"environment/{what}", {"instance": self._number, **params})
        finally:
            self._played.seconds += time.perf_counter() - since
        self._played.error = reply.get("error")
        return {} if self._played.error is not None else reply

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        before = self._played.seconds
        reply = self._request("call", {"name": name, "arguments": arguments})
        failed = self._played.error is not None or reply["failed"]
        message = "The environment has failed." if self._played.error is not None else reply.get("message")
        # Environments from other libraries show the model the message unchanged.
        plain = self._played.error is None and reply["content"] == message
        # TRL builds the tool result from the message.
        content = str({"error": str(message)}) if failed and not plain else str(reply["content"])
        seconds = self._played.seconds - before
        self._played.calls.append(MadeCall(name, content, failed, seconds, reply.get("reward"), reply.get("state")))
        if failed and not plain:
            raise RuntimeError(message)
        return content

    def _reward(self, completion: Any = None) -> float | None:
        """`completion`: the messages. Environments from other libraries can score their text."""
        messages = {"messages": completion} if isinstance(completion, list) and self._scores_text else {}
        return self._request("reward", messages).get("value")


def environment_class(
    description: dict[str, Any],
    ask: Ask,
    phase: Callable[[], AbstractContextManager[None]] = nullcontext,
    numbers: itertools.count[int] | None = None,
) -> type[RemoteEnvironment]:
    """Returns a class whose instances have the described tools. Raises Failure `unsupported` if a chat template would
    receive a tool description that differs from the one in the environment's file.

    :param numbers: instance numbers in the host process, if several classes share them
    """
    members: dict[str, Any] = {
        "_ask": staticmethod(ask),
        "_numbers": itertools.count() if numbers is None else numbers,
        "_phase": staticmethod(phase),
        "_scores_text": "library" in description,
    }
    for tool in description["tools"]:
        if tool["schema"] is None:
            raise Failure("invalid", f"{tool['fault']['message']}.", "Fix the environment file, then verify it.")
        # TRL does not offer such methods as tools, and they would replace those of this class.
        if tool["name"].startswith("_") or tool["name"] in ("reset", "get_reward"):
            raise Failure(
                "unsupported",
                f"TRL does not support a tool named {tool['name']}, as in environment {description['name']}.",
                "Rename the tool.",
            )
        members[tool["name"]] = described_method(description["name"], tool)
    return type(description["name"], (RemoteEnvironment,), members)


def described_method(owner: str, tool: dict[str, Any]) -> Any:
    """Returns the method of a tool. Raises Failure `unsupported` if a chat template would see a different schema."""
    schema = tool["schema"]
    for key in schema["parameters"]["properties"]:
        if keyword.iskeyword(key) or key == "self":
            raise Failure(
                "unsupported",
                f"TRL does not support an argument named {key}, as in tool {tool['name']} of environment {owner}.",
                "Rename the argument.",
            )
    try:
        method = tool_method(schema, tool["isAsync"])
        # The schema determines the prompt, so it must be the same as in a plain TRL script.
        same = get_json_schema(method)["function"] == schema
    except Exception:
        same = False
    if not same:
        raise Failure(
            "unsupported",
            f"The types used by tool {tool['name']} in environment {owner} are not supported.",
            "Use numbers, strings, booleans, lists and dictionaries.",
        )
    return method


def tool_method(schema: Schema, is_async: bool) -> Any:
    """Returns a method with the signature and docstring that produce this schema."""
    name = schema["name"]

    def call(self: RemoteEnvironment, **arguments: Any) -> str:
        return self._call(name, arguments)

    async def call_async(self: RemoteEnvironment, **arguments: Any) -> str:
        return self._call(name, arguments)

    method: Any = call_async if is_async else call
    parameters = schema["parameters"]
    required = parameters.get("required") or []
    hints = {key: hint_of(value) for key, value in parameters["properties"].items()}
    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for key, hint in hints.items():
        default = inspect.Parameter.empty if key in required else None
        signature.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    method.__name__ = method.__qualname__ = name
    method.__signature__ = inspect.Signature(signature)
    method.__annotations__ = dict(hints)
    if "return" in schema:
        method.__annotations__["return"] = hint_of(schema["return"])
    method.__doc__ = docstring_of(schema)
    return method


def docstring_of(schema: Schema) -> str:
    lines = [schema["description"] or ""]
    properties = schema["parameters"]["properties"]
    if properties:
        lines += ["", "Args:", *(f"    {name}: {described(value)}" for name, value in properties.items())]
    returned = schema.get("return", {}).get("description")
    if returned is not None:
        lines += ["", "Returns:", f"    {returned}"]
    return "\n".join(lines)


def described(schema: Schema) -> str:
    return str(schema["description"])


def hint_of(schema: Schema) -> Any:
    """Returns the type for this schema."""
    if "enum" in schema:
        hint: Any = Literal[tuple(schema["enum"])]
    elif "anyOf" in schema:
        hint = reduce(or_, (hint_of(one) for one in schema["anyOf"]))
    elif isinstance(schema.get("type"), list):
        hint = reduce(or_, (TYPES[name] for name in schema["type"]))
    elif "items" in schema:
        hint = list[hint_of(schema["items"])]
    elif "prefixItems" in schema:
        hint = tuple[tuple(hint_of(one) for one in schema["prefixItems"])]
    elif "additionalProperties" in schema:
        hint = dict[str, hint_of(schema["additionalProperties"])]
    else:
        hint = TYPES.get(schema.get("type", ""), Any)
    return hint | None if schema.get("nullable") else hint


@dataclass
class OpenedEnvironment:
    """The recipe's environment."""

    description: dict[str, Any]
    ask: Ask
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    evaluated: list[RemoteEnvironment] = field(default_factory=list)
    """Instances for evaluations. Each evaluation reuses them, because only resetting an instance ends its episode."""

    def make(self, phase: Callable[[], AbstractContextManager[None]]) -> type[RemoteEnvironment]:
        return environment_class(self.description, self.ask, phase, self.numbers)

    def for_evaluation(self, count: int) -> list[RemoteEnvironment]:
        made = self.make(nullcontext)
        self.evaluated += [made() for _ in range(count - len(self.evaluated))]
        return self.evaluated[:count]


def open_environment(context: Context) -> type[RemoteEnvironment] | None:
    """Returns the class for the recipe's environment, or None. Its requests are timed as part of the step. Raises
    Failure.
    """
    if context.recipe.get("environment") is None:
        return None
    return opened_environment(context).make(lambda: context.stopwatch.phase("environment"))


def opened_environment(context: Context) -> OpenedEnvironment:
    """Returns the recipe's environment. Raises Failure."""
    if context.environment is None:
        context.environment = describe_environment(context)
    opened: OpenedEnvironment = context.environment
    return opened


def describe_environment(context: Context) -> OpenedEnvironment:
    if not supports_tool_calling(context.policy.tokenizer):
        raise Failure(
            "unsupported",
            f"The chat template of {context.policy.name} does not support tool calls.",
            "Use a model whose chat template does, such as a Qwen instruct model.",
        )
    description = context.gate.ask("environment/describe", {})["environment"]
    if description.get("concurrent") is False:
        raise Failure(
            "unsupported",
            f"The {description['name']} server accepts only one episode at a time.",
            "Raise max_concurrent_envs in its app to the number of completions per step.",
        )
    return OpenedEnvironment(description, asks_of_process(context))


def asks_of_process(context: Context) -> Ask:
    """Returns the function that sends requests from this process's instances to the driver, independently of the other
    processes. Called on every rank.
    """
    world, link = context.world, context.link
    if world.size == 1:
        return context.gate.ask
    if world.main and link is not None:
        try:
            context.forwarder = Forwarder(link, INSTANCE_REQUESTS)
        except Failure as failure:
            world.broadcast(failure)
            raise
        world.broadcast(context.forwarder.address)
        return link.call
    address = world.broadcast()
    if isinstance(address, Failure):
        raise address
    return forwarded_link(address, world.rank).call


def environment_options(context: Context) -> dict[str, Any]:
    """Returns TRL's settings for the recipe's environment."""
    turns = (context.recipe.get("environment") or {}).get("maxTurns")
    return {} if turns is None else {"max_tool_calling_iterations": turns}


def reward_column(recipe: dict[str, Any]) -> str | None:
    """Returns the name of the column with the environment's reward, or None if the recipe does not list it."""
    return next((reward["name"] for reward in recipe["rewards"] if reward.get("use") == "environment"), None)


class EpisodesFailed(Exception):
    """More episodes of a batch failed than the recipe tolerates (`pauseAbove`). The batch must be replayed."""

    def __init__(self, failed: int, rows: int, index: int, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.report = {"failed": failed, "rows": rows, "index": index, "error": error}


def check_failures(context: Context, environments: list[RemoteEnvironment]) -> tuple[int, int]:
    """Returns the number of failed episodes and the total number of episodes in the batch, across all processes.
    Reports each new reason once. Called on every rank. Raises EpisodesFailed on all of them.
    """
    played = [
        error for of_rank in context.world.share([one._played.error for one in environments]) for error in of_rank
    ]
    errors = [(i, error) for i, error in enumerate(played) if error is not None]
    if not errors:
        return 0, len(played)
    index, first = errors[0]
    tolerated = (context.recipe.get("scoring") or {}).get("pauseAbove", 1)
    if len(errors) > tolerated * len(played):
        raise EpisodesFailed(len(errors), len(played), index, first)
    if context.report_once(f"environment: {first['kind']} {first['message']}"):
        line = f", line {first['line']}" if first.get("line") is not None else ""
        told = f"{len(errors)} of {len(played)} episodes failed: {first['message']} ({first['kind']}{line})."
        context.alert("warning", told)
    return len(errors), len(played)


def observed(mask: list[int]) -> list[list[int]]:
    """Returns the ranges [start, end) of completion tokens that come from the environment. They are not trained on."""
    changes = [
        place
        for place in range(len(mask) + 1)
        if (mask[place : place + 1] == [0]) != (place > 0 and mask[place - 1] == 0)
    ]
    return [[start, end] for start, end in zip(changes[::2], changes[1::2], strict=True)]
