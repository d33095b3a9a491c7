"""Calls an exported adapter the way its trainer does.

    python adapters.py TARGET ADAPTER < rows.json

`rows`: objects with prompt, completion, answer and columns. Prints one result a row.
"""

import asyncio
import importlib.util
import json
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("adapter", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["adapter"] = module
    spec.loader.exec_module(module)
    return module


def verl(adapter, row):
    return adapter.compute_score(
        data_source="test",
        solution_str=row["completion"],
        ground_truth=row["answer"],
        extra_info={**row["columns"], "num_turns": 1, "rollout_reward_scores": {}},
    )


def openrlhf(adapter, row):
    result = adapter.reward_func([row["prompt"] + row["completion"]], [row["prompt"]], [row["answer"]])
    return {
        "rewards": result["rewards"].tolist(),
        "scores": result["scores"].tolist(),
        "logs": {name: values.tolist() for name, values in result["extra_logs"].items()},
    }


def verifiers(adapter, row):
    import verifiers.v1 as vf
    from verifiers.v1.utils.decorators import discover_decorated

    class Data(vf.TaskData):
        answer: str | None = None
        limit: int = 10

    class Task(adapter.ExportedRewards, vf.Task[Data]):
        pass

    class Message:
        content = row["completion"].rpartition("</think>")[2]
        reasoning_content = row["completion"].rpartition("</think>")[0].removeprefix("<think>") or None

    class Trace:
        assistant_messages = [Message()]

    task = Task(Data(prompt=row["prompt"], answer=row["answer"], **row["columns"]))
    found = {method.__name__: method for method in discover_decorated(task, "reward")}

    async def score():
        return {name: await method(trace=Trace()) for name, method in found.items()}

    return {"values": asyncio.run(score()), "weights": {name: method._vf_weight for name, method in found.items()}}


if __name__ == "__main__":
    target, path = sys.argv[1:3]
    module = load(path)
    call = {"verl": verl, "openrlhf": openrlhf, "verifiers": verifiers}[target]
    print(json.dumps([call(module, row) for row in json.load(sys.stdin)]))
