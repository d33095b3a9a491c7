"""Runs one turn's tool calls as TRL's trainer does (`GRPOTrainer._tool_call_loop` in 1.13): an exception's message
is the tool's result, and asynchronous tools run concurrently after the others.
"""

import inspect

from . import frames, scoring

MAX_MESSAGE = 10_000


class ToolFailed(Exception):
    """Raised by a foreign tool that failed, if its library shows the model the unchanged message."""


def call_all(tools, calls, file):
    """Returns [{name, value, failed, message?, line?, stack?}]. Raises only errors fatal to a trainer, and MemoryError.
    """
    results, waiting = [], []
    for call in calls:
        name = call["name"]
        try:
            if name not in tools:
                raise ValueError(f"Tool {name} not found.")
            value = tools[name](**call["arguments"])
            if inspect.iscoroutinefunction(tools[name]):
                waiting.append((name, value))
            else:
                results.append({"name": name, "value": value, "failed": False})
        except MemoryError:
            raise
        except Exception as error:
            results.append(_failure(name, error, file))
    if waiting:
        results.extend(_await_all(waiting, file))
    return results


def _await_all(waiting, file):
    import asyncio

    async def gather():
        return await asyncio.gather(*(one for _, one in waiting), return_exceptions=True)

    for (name, _), value in zip(waiting, scoring.event_loop().run_until_complete(gather())):
        failed = isinstance(value, Exception)
        yield _failure(name, value, file) if failed else {"name": name, "value": value, "failed": False}


def _failure(name, error, file):
    place = frames.describe(error, file)
    message = str(error)
    value = message if isinstance(error, ToolFailed) else {"error": message}
    return {**place, "name": name, "value": value, "failed": True, "message": message[:MAX_MESSAGE]}
